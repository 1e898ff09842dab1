"""The component of CRAG, which scores the passages of a search and decides whether to search elsewhere."""
