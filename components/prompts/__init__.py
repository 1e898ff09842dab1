"""The prompts, and their rendering."""
