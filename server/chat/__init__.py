"""Questions and answers in the protocols that front ends speak."""
