"""The routes of collections, documents, uploads and feedback."""
