"""Named places to search."""
