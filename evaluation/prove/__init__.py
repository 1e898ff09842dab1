"""Measures on a person's own folder how often an answer that is given as stated is wrong, without labels."""
