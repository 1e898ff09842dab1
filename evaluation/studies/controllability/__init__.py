"""Measure whether bad press from the web reaches the prompt despite a company's own documents (PrefRAG, 5.4)."""
