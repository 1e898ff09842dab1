"""The agent's loop: what it asks next, where it searches, how it checks its answer."""
