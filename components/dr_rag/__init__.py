"""The components of DR-RAG, which retrieves in two stages."""
