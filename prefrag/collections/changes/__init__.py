"""How the documents of a collection change: uploads, deletions, a followed folder."""
