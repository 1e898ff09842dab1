"""Multi-source adaptive RAG: a preferred source first, another one when a judge says so.

The folders lie at the top of the checkout. The links here give them one import name, `prefrag`, in a checkout, in an
editable installation and in a wheel alike, and to tools that read files without running them (mypy, editors).
"""

import os

# Questions are private: Haystack's telemetry is off unless somebody switches it on. It reads this when it is imported.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
