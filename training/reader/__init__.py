"""Train the reader, which answers questions with spans of documents."""
