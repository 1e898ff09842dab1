"""The web as a source: what may leave, the search, and which pages may be shown."""
