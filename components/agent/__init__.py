"""The agent's loop: its next step, where it searches, how it checks its answer."""
