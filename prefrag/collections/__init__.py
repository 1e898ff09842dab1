"""Collections: the passages of indexed files, and how these passages change."""
