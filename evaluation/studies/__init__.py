"""Studies that combine many evaluations."""
