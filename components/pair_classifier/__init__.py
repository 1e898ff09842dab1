"""The classifier of pairs, which selects documents that are needed together."""
