"""Measure whether bad press from the web reaches the prompt despite a company's own documents.

PrefRAG calls this controllability (section 5.4).
"""
