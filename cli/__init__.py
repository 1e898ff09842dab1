"""The `prefrag` command."""
