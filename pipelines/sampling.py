"""How the models of all methods are sampled, unless a pipeline's YAML says otherwise."""

from __future__ import annotations

SAMPLING = {"temperature": 0.1, "top_p": 0.9, "max_tokens": 512}
