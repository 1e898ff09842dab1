"""Train the components that learn: decision trees, the extractive reader, and the judge's language model."""
