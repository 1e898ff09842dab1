"""The sources of a pipeline: named places to search, with their deadlines, retries and domains."""
