"""The state that a run carries, its beginning and its result."""
