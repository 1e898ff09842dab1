"""Run the same work on many items: in this process, in several, or on Ray."""
