"""Words, titles and characters of a text."""
