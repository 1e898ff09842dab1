"""The component of Self-RAG, in which a model answers from each passage alone and criticises each answer."""
