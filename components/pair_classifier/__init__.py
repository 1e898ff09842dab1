"""Which documents are needed together: a classifier of pairs."""
