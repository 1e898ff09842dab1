"""A file becomes passages."""
