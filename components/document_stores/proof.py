"""The measurements of answers from an index that `prefrag prove` stores.

`prefrag prove` asks questions about the documents of an index and measures how often a *Stated* answer is wrong. A
*Stated* answer is an answer that the documents state, with enough certainty. The measurement can also choose a minimum
for this index: an answer with a lower probability is then not called *Stated*. Both are stored as JSON in the folder of
the index.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from prefrag.components.document_stores.store_kinds import is_tantivy_store
from prefrag.private_file import write_private
from prefrag.settings import models

# The name under which measurements of the reader are stored. The reader is a small program that answers without a
# language model.
READER = "the reader"
# The file in the folder of an index with its measurements.
PROOF_FILE = "prefrag-proof.json"


def name_answerer() -> str:
    """Return the name of what answers questions with the present settings.

    :returns: The name of the language model on a server, or the file name of a model in this process. If the model on a
        server has no name, the host of the server. Without a model, :data:`READER`.
    """
    model = models["llm"]
    if model.base_url:
        return model.model or _host_of(model.base_url) or "a model without a name"
    if model.gguf:
        return Path(model.gguf).name
    return READER


def _host_of(address: str) -> str:
    """Return the host in an address, with its port, but without a user name and a password."""
    _, _, host = urlsplit(address).netloc.rpartition("@")
    return host


def read_proofs(index: Path) -> dict[str, dict[str, dict[str, object]]]:
    """Read the measurements of an index.

    :param index: The folder of the index.
    :returns: The measurements by the name of what answered (see :func:`name_answerer`) and by the name of the pipeline.
        Empty if there are none or if the file is damaged.
    """
    try:
        stored = json.loads((index / PROOF_FILE).read_text(encoding="utf-8"))
        proofs: dict[str, dict[str, dict[str, object]]] = {}
        for answerer, by_pipeline in stored.items():
            proofs[str(answerer)] = {str(pipeline): dict(proof) for pipeline, proof in by_pipeline.items()}
        return proofs
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def keep_proof(index: Path, answerer: str, pipeline: str, proof: dict[str, object]) -> None:
    """Store a measurement with its index. It replaces an earlier measurement of the same model and pipeline.

    :param index: The folder of the index.
    :param answerer: The name of what answered, as :func:`name_answerer` returns it.
    :param pipeline: The name of the pipeline.
    :param proof: The measurement, as plain values. Its key ``stated_from`` is the least probability of a *Stated*
        answer, from 0 to 1, or None if none was chosen.
    :raises OSError: When the folder cannot be written.
    """
    proofs = read_proofs(index)
    proofs[answerer] = {**proofs.get(answerer, {}), pipeline: proof}
    write_private(index / PROOF_FILE, json.dumps(proofs, ensure_ascii=False, indent=1) + "\n")


def find_stated_from(stores: Sequence[object]) -> dict[str, float]:
    """Find the minimum that was chosen for the indexes of a run: how probable a *Stated* answer must be at least.

    :param stores: The stores that the run searches. Only Tantivy stores have measurements.
    :returns: The minimum for answers of the reader under the key ``reader``, and for answers of the language model
        under the key ``model``. If several were chosen, for several indexes or pipelines, the highest counts. A key is
        missing if none was chosen. Then only the limits decide that are the same for all indexes.
    """
    # The name under which measurements are stored, and the key of the result.
    result_keys = {READER: "reader"}
    answerer = name_answerer()
    if answerer != READER:
        result_keys[answerer] = "model"

    probabilities: dict[str, float] = {}
    for store in filter(is_tantivy_store, stores):
        try:
            proofs = read_proofs(store.locate())
        except (OSError, ValueError):
            # The error is not reported here, because a search of the index will report it.
            continue

        for name, result_key in result_keys.items():
            for proof in proofs.get(name, {}).values():
                chosen = proof.get("stated_from")
                # In Python, True is an int.
                if isinstance(chosen, int | float) and not isinstance(chosen, bool):
                    highest = probabilities.get(result_key, 0.0)
                    probabilities[result_key] = max(highest, float(chosen))
    return probabilities
