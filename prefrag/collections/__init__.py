"""Collections: the passages of indexed files, and how they change."""
