"""The reader: what answers a question from documents without a language model, and how surely."""
