"""The `prefrag` command and the secured Hayhooks application."""
