"""Train the small learned parts."""
