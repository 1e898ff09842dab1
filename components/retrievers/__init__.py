"""The retrievers, which search the embedded index, Elasticsearch, vectors or titles."""
