"""Retrievers over the embedded index, Elasticsearch, vectors and titles."""
