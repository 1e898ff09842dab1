"""Haystack components of the multi-source adaptive RAG pipelines: one class a file."""
