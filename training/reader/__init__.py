"""Train the extractive reader, which answers a question by quoting words of a document."""
