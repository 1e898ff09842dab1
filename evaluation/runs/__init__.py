"""Running an evaluation and keeping its results."""
