"""How the documents of a collection change: uploads, deletions, and folders whose changes are followed."""
