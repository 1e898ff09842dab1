"""Classify questions by how much retrieval they need."""
