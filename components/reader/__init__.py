"""The extractive reader: it answers a question from documents without a language model, and says how sure it is."""
