"""The web as a source: which queries may be sent, the search, and which pages may be shown."""
