"""Helpers for texts: words, titles, sentences, Unicode, and passages read from a corpus."""
