"""Run the same work on many items: in this process or in several."""
