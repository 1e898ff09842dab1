"""The rankers, which sort the passages that a search found."""
