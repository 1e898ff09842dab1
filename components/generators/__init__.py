"""Language models and what a call of one needs."""
