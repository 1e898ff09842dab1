"""Haystack components of the multi-source adaptive RAG pipelines: one class per file."""
