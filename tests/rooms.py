"""The order of the rooms of the house."""

from __future__ import annotations

# These tuples are in order. A package or a room imports only from those that come after it.
PACKAGES = ("cli", "server", "training", "evaluation", "collections", "indexing", "pipelines", "components")
ROOMS = (
    "agent_hooks",
    *("dr_rag", "sources", "web", "rankers", "mspr", "crag", "self_rag", "flare", "adaptive_rag", "loop", "reasoner"),
    *("judge", "retrievers", "generators", "reader", "pair_classifier", "document_stores", "state", "prompts", "text"),
    *("both_ways", "parts", "recording", "block", "trees"),
)
