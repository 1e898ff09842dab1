"""The retrievers over the embedded index, Elasticsearch, vectors and titles."""
