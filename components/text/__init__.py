"""The words, titles and characters of texts, and passages as lines of a corpus."""
