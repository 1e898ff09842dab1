"""Think and answer: the model, its reply formats, or the reader in its place."""
