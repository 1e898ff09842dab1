"""Training of the small learned parts."""
