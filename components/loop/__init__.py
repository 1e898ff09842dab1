"""Components for the loops of several RAG methods: they route steps, record observations and check answers."""
