"""The pipeline of an evaluation: what is replaced in it, and what is recorded of it."""
