"""The classifier of pairs of documents, which selects documents that are needed together."""
