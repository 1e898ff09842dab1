"""The prompts, and how they are filled."""
