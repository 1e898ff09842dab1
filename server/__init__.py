"""The secured Hayhooks application."""
