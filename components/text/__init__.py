"""Helpers for texts: words, titles, sentences, dates, table rows, Unicode, and passages read from a corpus."""
