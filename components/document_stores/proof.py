"""What was measured of the answers from an index (`prefrag prove`), and the certainty that was chosen by it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prefrag.components.parts import is_tantivy_store
from prefrag.private_file import write_private
from prefrag.settings import models

READER = "the reader"
PROOF_FILE = "prefrag-proof.json"


def name_answerer() -> str:
    """Return the name of the language model that is set up, or that of the reader that answers without one.

    A server whose model has no name stands for it with its host.
    """
    model = models["llm"]
    if model.base_url:
        return model.model or urlsplit(model.base_url).netloc.rpartition("@")[2] or "a model without a name"
    return Path(model.gguf).name if model.gguf else READER


def read_proofs(index: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Read the measurements of an index, by what answered and by pipeline; empty if there are none or all are damaged.

    :param index: The folder of the index.
    """
    try:
        stored = json.loads((index / PROOF_FILE).read_text(encoding="utf-8"))
        proofs = {}
        for answerer, by_pipeline in stored.items():
            proofs[str(answerer)] = {str(pipeline): dict(proof) for pipeline, proof in by_pipeline.items()}
        return proofs
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def keep_proof(index: Path, answerer: str, pipeline: str, proof: dict[str, Any]) -> None:
    """Store a measurement with its index. It replaces the earlier one of the same model and pipeline.

    :param index: The folder of the index.
    :param answerer: What answered.
    :param pipeline: The name of the pipeline.
    :param proof: The measurement: plain values. ``stated_from`` is the probability from which an answer is stated.
    :raises OSError: When the folder cannot be written.
    """
    proofs = read_proofs(index)
    proofs[answerer] = {**proofs.get(answerer, {}), pipeline: proof}
    write_private(index / PROOF_FILE, json.dumps(proofs, ensure_ascii=False, indent=1) + "\n")


def find_stated_from(stores: Sequence[Any]) -> dict[str, float]:
    """Find the least probability of an answer that is called stated, as it was chosen for some indexes.

    :param stores: The stores that a run searches. The strictest choice counts, whatever the pipeline.
    :returns: By what answers, ``reader`` or ``model``; without a choice nothing, so that the usual limits alone decide.
    """
    names, answerer = {READER: "reader"}, name_answerer()
    if answerer != READER:
        names[answerer] = "model"
    probabilities: dict[str, float] = {}
    for store in filter(is_tantivy_store, stores):
        try:
            proofs = read_proofs(store.locate())
        except (OSError, ValueError):
            # A search of the index will report this.
            continue
        for name, part in names.items():
            for proof in proofs.get(name, {}).values():
                chosen = proof.get("stated_from")
                if isinstance(chosen, int | float) and not isinstance(chosen, bool):
                    probabilities[part] = max(probabilities.get(part, 0.0), float(chosen))
    return probabilities
