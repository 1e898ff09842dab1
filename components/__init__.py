"""Haystack components of the multi-source adaptive RAG pipelines: one class a file."""

import os

# Questions are private: Haystack's telemetry is off unless somebody switches it on. It reads this when it is imported.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
