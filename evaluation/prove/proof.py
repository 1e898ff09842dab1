"""Measure one collection, and keep the result (the proof) with the collection.

A proof belongs to a collection, to what answers there and to a pipeline. It says how many *Stated* answers were wrong.
When much has changed since, :func:`say_kept` says so. :func:`prove` is the function behind ``prefrag prove``.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.proof import READER, keep_proof, name_answerer, read_proofs
from prefrag.components.document_stores.tantivy.index_location import resolve_index
from prefrag.components.generators.ability_probe import try_models
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.parts import walk_parts
from prefrag.components.reader.reader_files import CARD, SHIPPED_READER
from prefrag.errors import BadInput
from prefrag.evaluation.pipeline_under_test.part_files import part_files
from prefrag.evaluation.pipeline_under_test.pipeline_blocks import STORE, digest
from prefrag.evaluation.prove.asking import OnProgress, Plan, ask_all, list_open_loops
from prefrag.evaluation.prove.figures import measure
from prefrag.evaluation.prove.records import AppliedProof, Proof
from prefrag.evaluation.prove.report_page import write_page
from prefrag.evaluation.prove.sentences import Sentences
from prefrag.evaluation.prove.written_question import QuestionWriter
from prefrag.file_lock import hold_lock
from prefrag.pipelines import loading
from prefrag.pipelines.blocks import blocks, is_block_of
from prefrag.private_file import make_private_folder, write_private
from prefrag.settings import ModelSettings, models
from prefrag.version import find_version

# The two reply formats (loops) that a model may have, each with the one that it is compared with.
_OTHER_LOOP = {"text": "steps", "steps": "text"}
# If more than this share (0 to 1) of the files has changed, a proof no longer holds.
_MOST_CHANGED = 0.1
# The number of seconds to wait for another process that measures into the same folder.
_WAIT_SECONDS = 1.0


def prove(
    collection: LocalCollection,
    output: Path,
    *,
    pipeline: str = "prefrag",
    number: int = 200,
    minutes: float = 10.0,
    seed: int = 7,
    applies: bool = False,
    feedback: str = "",
    on_progress: OnProgress | None = None,
) -> AppliedProof:
    """Measure how often a stated answer is wrong on a collection, and keep the result with the collection.

    The same call continues a measurement that was interrupted or whose time was up. If no question was answered, an
    earlier proof stays.

    :param collection: The collection. Its files are not changed.
    :param output: The folder of ``proof.json``, ``proof.html`` and the answers.
    :param pipeline: The name of a pipeline, or a YAML file.
    :param number: The maximum number of questions.
    :param minutes: After this time, no further question is begun.
    :param seed: The seed of the choice of questions.
    :param applies: Whether the threshold and the loop that were chosen are used from now on.
    :param feedback: A sentence for the report about the person's own verdicts.
    :param on_progress: Called with the number of answered questions and the number of all questions.
    :returns: The content of ``proof.json`` without the cases, and ``switched``: whether the model now uses its other
        loop.
    :raises FileNotFoundError: If there is no such collection.
    :raises BadInput: If the pipeline searches no index of this machine.
    :raises PrefragError: If a run or its language model fails. Earlier answers stay in the folder.
    """
    _check_pipeline(pipeline)
    index = resolve_index(collection.name)
    answerer = name_answerer()
    model = _find_model(pipeline)
    loop = model.reply_format if model is not None else ""
    # The documents may change while the questions are asked. The proof holds for them as they are now.
    measured_state = {"reader": reader_version(), "version": index_version(index), "files": file_marks(collection)}
    # If the user has set the format of the model, no other one is tried.
    other_loop = _OTHER_LOOP[loop] if loop and not models["llm"].format else ""
    plan = Plan(
        index,
        output / "answers.jsonl",
        pipeline,
        number,
        minutes,
        seed,
        key={
            "version": measured_state["version"],
            "answerer": answerer,
            "answers": answering_version(pipeline),
            "reader": measured_state["reader"],
            "number": number,
            "loop": loop,
        },
        writer=None if answerer == READER else QuestionWriter(),
        other_loop=other_loop,
    )

    make_private_folder(output)
    with hold_lock(output / ".lock", _WAIT_SECONDS, "measuring into this folder"):
        results = asyncio.run(ask_all(plan, Sentences(collection.passages().all()), on_progress))

    cases = results["cases"]
    answerer_in_words = answerer if answerer.startswith("the ") else f"the model {answerer}"
    proof: Proof = {
        **measure(cases, answerer_in_words),
        "collection": collection.name,
        "answerer": answerer,
        "pipeline": pipeline,
        "loop": loop,
        "other_loop": other_loop,
        "date": datetime.now(UTC).date().isoformat(),
        "seed": seed,
        "asked": len(cases),
        "questions": results["questions"],
        "dropped": results["dropped"],
        "seconds": round(sum(case["seconds"] for case in cases), 1),
        "feedback": feedback,
    }

    write_private(output / "proof.json", json.dumps({**proof, "cases": cases}, ensure_ascii=False, indent=1))
    write_private(output / "proof.html", write_page(proof, cases))
    if not cases:
        return {**proof, "switched": False}

    # A loop is chosen only once, when all questions were asked. If it could be chosen after each part of the questions,
    # chance alone would choose one sooner or later.
    are_all_asked = len(cases) == results["questions"]
    is_switched = False
    if model is not None and applies and are_all_asked:
        is_switched = _switch_loop(model, proof)
    # The threshold that was chosen for the collection earlier stays, unless another one is applied.
    stated_from = read_proofs(index).get(answerer, {}).get(pipeline, {}).get("stated_from")
    # The threshold was measured with the old loop. So it says nothing about the new loop.
    if applies and proof["threshold"] and not is_switched:
        stated_from = proof["threshold"]["from"]
    _keep(index, proof, stated_from, measured_state)
    return {**proof, "switched": is_switched}


def _check_pipeline(pipeline: str) -> None:
    """Raise BadInput if a pipeline searches no index of this machine."""
    block = loading.read_block(loading.find(pipeline))
    if not any(is_block_of(part, STORE) for part in blocks(block)):
        raise BadInput(
            f"The pipeline {pipeline} searches no index of this machine, in a copy of which sentences could be taken "
            "out: choose another one with --pipeline, such as prefrag, vanilla_local or dr_rag_qdc."
        )


def _keep(index: Path, proof: Proof, stated_from: object, measured_state: Mapping[str, object]) -> None:
    """Keep a proof with its collection.

    :param index: The folder of the index.
    :param proof: The proof.
    :param stated_from: The threshold of stated answers on this collection. None if there is none.
    :param measured_state: The versions of the reader and of the passages that were measured, and the marks of their
        files. They tell later whether these have changed since.
    """
    record: dict[str, object] = {
        "sentence": proof["sentence"],
        "date": proof["date"],
        "bound": proof["bound"],
        "threshold": proof["threshold"],
        "stated_from": stated_from,
        "loop": proof["loop"],
        **measured_state,
    }
    keep_proof(index, proof["answerer"], proof["pipeline"], record)


def _switch_loop(model: ChatModel, proof: Proof) -> bool:
    """Have the model use its other loop from now on, if the measurement has chosen it. Return whether it has."""
    loops = proof["loops"]
    if loops is None or not loops["chosen"]:
        return False
    better, n = loops["better"], loops["n"]
    reason = f"`prefrag prove` on {proof['collection']}: better in {better} of {n}"
    model.keep(reply_format=proof["other_loop"], reason=reason)
    return True


def _find_model(pipeline: str) -> ChatModel | None:
    """Find the model whose loop a pipeline leaves open. Try once what the model can do, as the other commands do.

    Return None if the pipeline has no such model.
    """
    loaded = loading.load(pipeline)
    chat_models = [
        part for _, part in walk_parts(list_open_loops(loaded)) if isinstance(part, ChatModel) and part.role == "llm"
    ]
    model = next((part for part in chat_models if not part.is_absent), None)
    if model is not None:
        model.warm_up()
        try_models(loaded)
    return model


def index_version(index: Path) -> str:
    """Compute a checksum that changes whenever the passages of an index change.

    :param index: The folder of the index.
    :returns: The checksum: eight hexadecimal digits.
    """
    return f"{zlib.crc32((index / 'meta.json').read_bytes()):08x}"


def answering_version(pipeline: str) -> str:
    """Compute a digest of everything that decides the answers, except the index.

    These are the pipeline, the settings of the models, and the version of the program.

    :param pipeline: The name of a pipeline, or a YAML file.
    :returns: The digest: 16 hexadecimal digits.
    """
    block = loading.read_block(loading.find(pipeline))
    names = sorted(ModelSettings.model_fields.keys() - {"api_key"})
    own_models = {}
    for role, model in models.items():
        own_models[role] = [getattr(model, name) for name in names]
    return digest({"pipeline": block, "files": part_files(block), "models": own_models, "prefrag": find_version()})


def reader_version() -> str:
    """Compute a checksum that changes whenever the shipped reader changes.

    :returns: The checksum: eight hexadecimal digits.
    """
    return f"{zlib.crc32((SHIPPED_READER / CARD).read_bytes()):08x}"


def file_marks(collection: LocalCollection) -> list[str]:
    """Compute a short mark of each file, which changes with the content of the file.

    :param collection: The collection.
    :returns: The marks, sorted.
    """
    marks = [repr((path, meta.get("modified"), meta.get("file_size"))) for path, meta in collection.metadata().items()]
    return sorted(f"{zlib.crc32(mark.encode()):08x}" for mark in marks)


def say_kept(collection: LocalCollection) -> str:
    """Say what was measured on a collection and when, or that something has changed since.

    :param collection: The collection.
    :returns: A sentence or two for each pipeline. Empty if nothing was measured.
    """
    try:
        proofs = read_proofs(resolve_index(collection.name))
    except (OSError, ValueError):
        return ""
    answerer = name_answerer()
    if answerer not in proofs:
        other_answerers = ", ".join(sorted(proofs))
        if not other_answerers:
            return ""
        again = f"again: prefrag prove --collection {collection.name}"
        return f"Measured only with {other_answerers}, not with {answerer}; {again}"
    return " ".join(_say(proof, pipeline, collection) for pipeline, proof in sorted(proofs[answerer].items()))


def _is_of_another_loop(loop: str) -> bool:
    """Check whether the model has another loop now. A loop that was chosen on any folder is used on all of them."""
    if not loop:
        return False
    model = ChatModel()
    if model.is_absent:
        return False
    # Before its trial, the loop of a model is only guessed. No proof was made with a guessed loop.
    return not model.is_format_guessed and model.reply_format != loop


def _say(proof: Mapping[str, object], pipeline: str, collection: LocalCollection) -> str:
    """Say what was measured with one pipeline, and what has changed since."""
    option = with_pipeline = ""
    if pipeline != "prefrag":
        option = f" --pipeline {pipeline}"
        with_pipeline = f" with the pipeline {pipeline}"
    again = f"again: prefrag prove --collection {collection.name}{option}"
    measured = f"{proof.get('sentence', '')} Measured{with_pipeline} on {proof.get('date', '')}"
    loop = str(proof.get("loop") or "")
    # Earlier versions of the program wrote into the proof that it no longer holds.
    if proof.get("before") or _is_of_another_loop(loop):
        return f"{measured}, before the loop of the model changed; {again}"
    if proof.get("reader") != reader_version():
        return f"{measured}, before the reader changed; {again}"
    files = proof.get("files")
    marks_before = set(files) if isinstance(files, list) else set()
    marks_now = set(file_marks(collection))
    # Passages that were not read from files have no marks. There, any change of the index counts.
    if not marks_now and proof.get("version") != index_version(resolve_index(collection.name)):
        return f"{measured}, before the passages changed; {again}"
    n_changed = len(marks_before ^ marks_now)
    if n_changed > _MOST_CHANGED * max(1, len(marks_before)):
        return f"{measured}, before more than a tenth of the files changed; {again}"
    return f"{measured}."
