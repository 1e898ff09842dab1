"""The document stores of passages."""
