"""Studies, each of which combines many evaluations and prints a table."""
