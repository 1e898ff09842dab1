"""Train the components that learn: decision trees, a transformer, the extractive reader, the judge's language model."""
