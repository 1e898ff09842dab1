"""Self-RAG's critique of each passage."""
