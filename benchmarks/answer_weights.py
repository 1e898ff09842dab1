"""Fit the weights by which the product decides how sure a small model's answer is.

    python -m benchmarks.small_model own-train demo-train --pipeline reader
    python -m benchmarks.answer_states runs/small_model/own-train-reader ... --url http://127.0.0.1:8080/v1
    python -m benchmarks.answer_weights runs/small_model/own-train-reader-states ... --index own-train --write

Reads `predictions.jsonl` in the folders of cells, of `benchmarks.answer_states` or of a whole loop. Of each question,
the last answer that the model proposed in the format `steps` is an example, with the passages that the run had found;
the reader judges it, and `list_signs` lists its signs, as in the product. An answer that the product refuses without
its weights is left out. Prints the AUC of ten-fold cross-validation with its interval over questions, the weights, and
how many answers each limit would give.
`--write` puts them into the file that the product reads.

A prediction describes its passages without their tables. `--index` names a collection in which the passages are looked
up (below `PREFRAG_DATA_DIR`, which is `runs/small_model/data` for these cells), with all that the reader needs to read
a row; a passage that no such collection has is read from its description.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from haystack import Document

from benchmarks.small_model import is_right, read_cells
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.reader.answer_carrier import is_refusal, is_verdict
from prefrag.components.reader.document_choice import choose_documents
from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.components.reader.reader import Judgement, Reader
from prefrag.components.reasoner.answer_check import WEIGHTS_FILE, AnswerSigns, list_signs
from prefrag.components.reasoner.answer_confirmation import read_confirmation
from prefrag.components.reasoner.product_rules import says_not_found
from prefrag.components.reasoner.reasoner import MOST_SHOWN
from prefrag.components.reasoner.reply_formats.steps_format import ASK_QUERY, MUST_ANSWER, StepsFormat
from prefrag.evaluation.report.intervals import CONFIDENCE, SEED, Interval
from prefrag.training.area_under_curve import area_under_curve

FOLDS = 10
LIMITS = (0.5, 0.6, 0.65, 0.7, 0.75, 0.85)
_META = ("title", "source", "date")
# The signs of each group of weights. Where the model was asked to confirm its answer, the share of the question's words
# that the sentence has says nothing more.
SIGNS = {
    "confirmed": ("reader", "forced", "logprob", "confirmed"),
    "with_tokens": ("cover", "head", "reader", "forced", "logprob"),
    "without_tokens": ("cover", "head", "reader", "forced"),
}
FEWEST = 20  # examples; fewer fit nothing
_RESAMPLES = 1_000
_RIDGE = 0.1  # keeps the weights finite where a sign alone tells right from wrong
_ROUNDS = 50


class Example(NamedTuple):
    """An answer that the model proposed."""

    signs: Mapping[str, float]
    is_right: bool


def read_documents(described: Sequence[Mapping[str, Any]], indexed: Mapping[str, Document]) -> list[Document]:
    """Make the documents that a result describes; `indexed` has the passages of collections by their ids."""
    documents = []
    for document in described:
        meta = {key: document.get(key) for key in _META}
        passage = indexed.get(document["id"])
        if passage is None:
            documents.append(Document(id=document["id"], content=document["content"], meta=meta))
        else:
            documents.append(replace(passage, meta={**passage.meta, "source": document.get("source")}))
    return documents


def read_indexes(names: Sequence[str]) -> dict[str, Document]:
    """Read the passages of collections, by their ids."""
    indexed = {}
    for name in names:
        for passage in LocalCollection(name).document_store().filter_documents():
            indexed[passage.id] = passage
    return indexed


def read_example(
    prediction: Mapping[str, Any], reader: Reader, indexed: Mapping[str, Document] = MappingProxyType({})
) -> Example | None:
    """Read the last answer that the model proposed for a question; None if it proposed none that is weighed."""
    proposed = None
    for call in prediction.get("calls") or ():
        prompt, reply = call["messages"][-1]["text"], call.get("reply") or {}
        if proposed is not None and call["parameters"].get("top_logprobs"):
            answer, signs = proposed
            confirmed = read_confirmation(reply.get("first_words") or {})
            proposed = answer, replace(signs, confirmed=confirmed)
            continue
        answer = StepsFormat().read(reply.get("text") or "", (), must_answer=True).answer
        is_asked = bool(call["parameters"].get("logprobs")) and not prompt.endswith(ASK_QUERY)
        is_answer = bool(answer) and not says_not_found(answer) and not is_verdict(answer)
        if is_asked and is_answer:
            proposed = answer, AnswerSigns(prompt.endswith(MUST_ANSWER), reply.get("mean_logprob"))
    if proposed is None:
        return None
    answer, signs = proposed
    question = prediction["question"]
    shown = choose_documents(question, read_documents(prediction["result"]["documents"], indexed), MOST_SHOWN)
    judged = reader.judge(question, shown, answer)
    # No sentence carries the answer, a newer one contradicts it, or it has no value: the product asks no weights then.
    if judged == Judgement() or judged.is_outdated or is_refusal(question, answer, shown):
        return None
    is_answerable = prediction.get("answerable") is not False
    return Example(list_signs(judged, signs), is_answerable and is_right({**prediction, "result": {"answer": answer}}))


def fit(examples: Sequence[Example]) -> np.ndarray:
    """Fit the weights by logistic regression, the constant last: Newton's method with a small ridge."""
    rows, right = _columns(examples)
    weights, ridge = np.zeros(rows.shape[1]), np.diag([_RIDGE] * (rows.shape[1] - 1) + [0.0])
    for _ in range(_ROUNDS):
        likely = _estimate(rows, weights)
        slope = rows.T @ (right - likely) - ridge @ weights
        curve = (rows * (likely * (1 - likely))[:, None]).T @ rows + ridge
        weights = weights + np.linalg.lstsq(curve, slope, rcond=None)[0]
    return weights


def cross_estimate(examples: Sequence[Example]) -> np.ndarray:
    """Estimate how likely each example is right, with weights that were not fitted on it."""
    random = np.random.default_rng(SEED)
    (rows, _), folds = _columns(examples), random.permutation(len(examples)) % FOLDS
    likely = np.zeros(len(examples))
    for fold in range(FOLDS):
        weights = fit([example for example, own in zip(examples, folds, strict=True) if own != fold])
        likely[folds == fold] = _estimate(rows[folds == fold], weights)
    return likely


def cross_validate(examples: Sequence[Example]) -> Interval:
    """Return the AUC of estimates for examples that were not fitted on, with its bootstrap interval over questions."""
    random = np.random.default_rng(SEED)
    (_, right), likely = _columns(examples), cross_estimate(examples)
    drawn = [random.integers(len(examples), size=len(examples)) for _ in range(_RESAMPLES)]
    areas = [area_under_curve(right[chosen], likely[chosen]) for chosen in drawn]
    tail = (100 - CONFIDENCE) / 2
    low, high = np.percentile(areas, [tail, 100 - tail])
    return Interval(area_under_curve(right, likely), float(low), float(high), len(examples))


def count_given(examples: Sequence[Example]) -> list[str]:
    """Say for several limits how many answers would be given by estimates of other examples, and how many are right."""
    (_, right), likely = _columns(examples), cross_estimate(examples)
    lines = []
    for limit in LIMITS:
        is_given = likely >= limit
        lines.append(f"from {limit:.2f} on: {is_given.sum()} given, {(is_given & right).sum()} right")
    return lines


def _columns(examples: Sequence[Example]) -> tuple[np.ndarray, np.ndarray]:
    rows = np.array([[*example.signs.values(), 1.0] for example in examples])
    return rows, np.array([example.is_right for example in examples], dtype=bool)


def _estimate(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    # A probability of exactly 0 or 1 would leave Newton's method without a slope.
    likely: np.ndarray = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
    return likely


def main(
    cells: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Cells of benchmarks.small_model.")],
    index: Annotated[list[str] | None, typer.Option(help="A collection with the passages of a cell.")] = None,
    write: Annotated[bool, typer.Option(help="Write the weights into the file that the product reads.")] = False,
) -> None:
    """Fit the weights, and print them with their AUC."""
    reader, indexed = ExtractiveReader(), read_indexes(index or ())
    examples = []
    for cell in cells:
        for prediction in read_cells(cell.parent).get(cell.name, ()):
            example = read_example(prediction, reader, indexed)
            if example is not None:
                examples.append(example)
    weights = {}
    for name, signs in SIGNS.items():
        complete = [example for example in examples if example.signs.keys() >= set(signs)]
        chosen = [Example({sign: example.signs[sign] for sign in signs}, example.is_right) for example in complete]
        right = sum(example.is_right for example in chosen)
        if len(chosen) < FEWEST or right in (0, len(chosen)):
            typer.echo(f"{name}: {len(chosen)} answers, {right} right: too few to fit", err=True)
            continue
        area = cross_validate(chosen)
        fitted = [round(float(weight), 2) for weight in fit(chosen)]
        weights[name] = dict(zip((*signs, "constant"), fitted, strict=True))
        typer.echo(
            f"{name}: {len(chosen)} answers, {right} right, AUC {area.mean:.2f} ({area.low:.2f} to {area.high:.2f})"
        )
        typer.echo(f"  {weights[name]}")
        for line in count_given(chosen):
            typer.echo(f"  {line}")
    if write and len(weights) < len(SIGNS):
        raise typer.BadParameter("all kinds of weights are needed: measure with a server that sends log probabilities")
    if write:
        lines = ",\n".join(f'  "{name}": {json.dumps(values)}' for name, values in weights.items())
        WEIGHTS_FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
