"""Training of the small learned parts."""

import os

# Questions are private: Haystack's telemetry is off unless somebody switches it on. It reads this when it is imported.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
