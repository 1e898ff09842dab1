"""DR-RAG: retrieval in two stages."""
