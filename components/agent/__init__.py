"""The components of the agent's loop: its next step, where it searches, how it checks its answer."""
