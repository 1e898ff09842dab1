"""The HTTP routes of collections, documents, uploads and feedback, and what they need."""
