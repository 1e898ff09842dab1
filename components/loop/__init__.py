"""Components that the loops of several methods share: they route steps, record observations and check answers."""
