"""Hooks for an Agent of Haystack 3: its user's documents first, the web only when they do not suffice."""
