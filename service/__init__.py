"""The secured Hayhooks application and the `prefrag` command line."""

import os

# The questions and documents are private, so usage statistics are sent only where someone asks for it.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
