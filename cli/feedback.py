"""The command `prefrag feedback`. It lists the feedback of users on answers, and exports it as questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from prefrag.cli.env_file import load_env_file
from prefrag.components.text.counted import counted
from prefrag.components.text.one_line import one_line
from prefrag.errors import Missing

# Heavy modules are imported where they are used, so that --help is instant.
if TYPE_CHECKING:
    from prefrag.evaluation.question import Question
    from prefrag.server.library.feedback import KeptFeedback

# How entries that cannot be read are counted.
_UNREADABLE = "unreadable"
# What the field `compared` of an entry means. Users can compare an answer of the extractive reader with one of a model.
_SIDES = {"reader": "without the model", "model": "with the model"}
# Options that both commands share.
RatingOption = Annotated[
    Literal["up", "down"] | None, typer.Option(help="Only answers that users liked (up) or disliked (down).")
]
CollectionOption = Annotated[
    str | None,
    typer.Option(
        "--collection", "--index", metavar="NAME", help="Only feedback on this collection; by default on all."
    ),
]


def list_feedback(rating: RatingOption = None, collection: CollectionOption = None) -> None:
    """List the feedback of users on answers, the newest last."""
    load_env_file()
    left_out: Counter[str] = Counter()
    entries = list(_read(collection, left_out))
    listed = [entry for entry in entries if rating is None or entry.rating == rating]
    for entry in listed:
        answer = f" -> {entry.result.answer}" if entry.result.answer else " -> (no answer)"
        right = f"; right: {entry.answer}" if entry.answer else ""
        comment = f"; {entry.comment}" if entry.comment else ""
        key = f" ({entry.key})" if entry.key else ""
        origin = one_line(f"{entry.time:%Y-%m-%d %H:%M} UTC {entry.rating:<4}{key}")
        content = one_line(f"{entry.result.question}{answer}{right}{comment}")
        typer.echo(f"{origin}  {content}")
    summary = f"{len(listed):,} in all"
    if left_out:
        summary += f"; {left_out[_UNREADABLE]:,} unreadable"
    typer.echo(summary)

    for side, name in _SIDES.items():
        # Count all entries, not only the listed ones. If only liked answers are listed, all of them would be right.
        compared = [entry for entry in entries if entry.compared == side]
        if compared:
            liked = sum(entry.rating == "up" for entry in compared)
            durations = [entry.result.usage.seconds for entry in compared if entry.result.usage.seconds]
            duration = f", {median(durations):.1f} s each (median)" if durations else ""
            typer.echo(f"Compared {name}: {liked:,} of {len(compared):,} right{duration}")


def export_feedback(
    output: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="The questions file to write.")],
    rating: RatingOption = None,
    kind: Annotated[
        Literal["evaluation", "training"],
        typer.Option(help="What the file is for. With `training`, it has only questions with gold passages."),
    ] = "evaluation",
    collection: CollectionOption = None,
) -> None:
    """Write the questions that have a known right answer into a file for `prefrag evaluate` or `prefrag train`."""
    from prefrag.evaluation.datasets import write_jsonl

    load_env_file()
    left_out: Counter[str] = Counter()
    # The last feedback on each question, by the collection and the text of the question.
    last: dict[tuple[str, str], KeptFeedback] = {}
    # If a question was rated several times, only the last rating counts. This is so even if `rating` leaves it out.
    for feedback in _read(collection, left_out):
        key = (feedback.collection, _make_question(feedback).question)
        is_replacement = key in last
        left_out["replaced by later feedback"] += is_replacement
        last[key] = feedback

    questions: dict[tuple[str, str], Question] = {}
    for key, feedback in last.items():
        question = _make_question(feedback)
        if rating is not None and feedback.rating != rating:
            continue
        reason = "" if question.answers else "without a right answer"
        if kind == "training":
            reason = reason or _why_not_trainable(feedback)
        if reason:
            left_out[reason] += 1
        else:
            questions[key] = question

    reasons = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items() if count)
    if not questions:
        explanation = f": {reasons}" if reasons else ""
        raise Missing(f"There is no feedback to export{explanation}.")
    write_jsonl(questions.values(), output)
    others = f"; left out: {reasons}." if reasons else "."
    typer.echo(f"{counted(len(questions), 'question')} written to {output}{others}")

    collections = sorted({collection for collection, _ in questions})
    if len(collections) > 1:
        names = ", ".join(collections)
        typer.echo(f"The file mixes questions on several collections ({names}): use --collection.", err=True)


def _read(collection: str | None, left_out: Counter[str]) -> Iterator[KeptFeedback]:
    """Yield the feedback on a collection, or all feedback for None. Count unreadable entries in ``left_out``."""
    from prefrag.server.library.feedback import read_feedback

    for entry in read_feedback():
        if entry is None:
            left_out[_UNREADABLE] += 1
        elif collection is None or entry.collection == collection:
            yield entry


def _make_question(feedback: KeptFeedback) -> Question:
    """Make a question of the evaluation from feedback, with the right answer if this is known."""
    from prefrag.evaluation.question import Question

    answers = (feedback.right_answer,) if feedback.right_answer else ()
    return Question(
        id=f"feedback-{feedback.id}",
        question=" ".join(feedback.result.question.split()),
        answers=answers,
        supporting_ids=tuple(feedback.supporting_ids),
    )


def _why_not_trainable(feedback: KeptFeedback) -> str:
    """Return why training cannot use the feedback. Empty if it can.

    Training needs an answer that cites passages, and the collection must still have all of them.
    """
    wanted = set(feedback.supporting_ids)
    if not wanted:
        return "with an answer that was not liked or cites no passage of a collection"
    missing = wanted - _existing_ids(feedback.collection, wanted)
    return "with citations that are not in the collection" if missing else ""


def _existing_ids(name: str, wanted: Collection[str]) -> set[str]:
    """Return those of the wanted ids that are in the collection of this name."""
    from prefrag.collections.opening import open_collection
    from prefrag.settings import settings

    stores = ["tantivy"]
    if settings.state == "elasticsearch":
        stores.insert(0, "elasticsearch")
    for store in stores:
        with suppress(FileNotFoundError, ValueError), closing(open_collection(name, store).passages()) as passages:
            return set(passages.by_id(list(wanted)))
    return set()
