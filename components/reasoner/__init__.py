"""The reasoner, which decides at each step of a run whether to search or to answer, and the formats of its replies."""
