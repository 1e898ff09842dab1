"""The embedded index: a BM25 index on disk, without a server."""
