"""The rankers, which sort the passages of a source."""
