"""The command `prefrag prove`.

It measures how often an answer given as "Stated" is wrong, on a user's own folder and with the user's own model. There
are two words for how sure an answer is. "Stated" means that a passage states the answer, and "Probably" is weaker.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefrag.cli.console import console, print_json
from prefrag.cli.env_file import report_unknown_settings
from prefrag.cli.folder import check_folder
from prefrag.cli.kept_model import apply_chosen_model
from prefrag.components.text.counted import counted
from prefrag.errors import BadInput

# Heavy modules are imported where they are used, so that --help is instant.
if TYPE_CHECKING:
    from prefrag.collections.local_collection import LocalCollection
    from prefrag.evaluation.prove.records import AppliedProof, Proof


def prove_folder(
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="The folder, which is indexed first.")] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--collection", "--index", metavar="NAME", help="A collection that exists already, instead of a folder."
        ),
    ] = None,
    pipeline: Annotated[
        str, typer.Option(metavar="NAME|FILE.yaml", help="The pipeline that answers: a name or a YAML file.")
    ] = "prefrag",
    questions: Annotated[int, typer.Option(min=1, help="The maximum number of questions.")] = 200,
    minutes: Annotated[float, typer.Option(min=0, help="After this time no further question is begun.")] = 10.0,
    seed: Annotated[int, typer.Option(help="The same seed asks the same questions.")] = 7,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the report; by default one in the data folder.")
    ] = None,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="From now on, use the certainty and the model's loop that were measured best."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Measure on your own folder how often an answer given as Stated is wrong, without labels.

    Takes sentences out of a copy of the index, changes their values, denies them, and asks for them. Your files stay
    as they are, and no question goes to the web. The same command continues where it was stopped.
    """
    if (folder is None) == (name is None):
        raise BadInput("Give a folder, or --collection NAME.")
    report_unknown_settings(pipeline)
    apply_chosen_model()
    from prefrag.collections.local_collection import LocalCollection
    from prefrag.components.document_stores.tantivy.index_location import data_directory
    from prefrag.evaluation.prove.proof import prove

    terminal = console(stderr=True)
    # Either the folder or the name is given.
    collection = _index(folder) if folder is not None else LocalCollection(name or "")
    os.environ["PREFRAG_INDEX"] = collection.name
    place = output or data_directory() / "proofs" / collection.name
    with terminal.status("reading the sentences") as status:

        def show(done: int, number: int) -> None:
            status.update(f"{done} of {number} questions asked")

        proof = prove(
            collection,
            place,
            pipeline=pipeline,
            number=questions,
            minutes=minutes,
            seed=seed,
            applies=apply,
            feedback=_say_feedback(collection.name),
            on_progress=show,
        )
    if as_json:
        print_json(proof)
        return
    for line in [*_describe(proof, applied=apply), f"The report is {place / 'proof.html'}."]:
        console().print(line, markup=False, soft_wrap=True, highlight=False)


def _describe(proof: AppliedProof, applied: bool) -> list[str]:
    """Describe a measurement in lines. If ``applied`` is true, also say what was changed by it."""
    from prefrag.evaluation.prove.report_page import say_beside

    lines = [proof["sentence"], *say_beside(proof)]
    for name, rate in proof["rates"].items():
        # Rates whose names begin with these words are printed only if such an event has happened.
        is_shown = rate["events"] or not name.startswith(("dropped", "stated and wrong"))
        if rate["n"] and is_shown:
            lines.append(f"  {name}: {rate['events']} of {rate['n']}")
    if proof["asked"] < proof["questions"]:
        lines.append(
            f"The time was up after {proof['asked']} of {proof['questions']} questions: run it again to go on."
        )
    if applied:
        lines.append(_say_applied(proof))
    return lines


def _say_applied(proof: AppliedProof) -> str:
    """Say what ``--apply`` has changed: the way in which the model works, or the certainty for "Stated"."""
    if proof["switched"]:
        return (
            f"The model now has the loop {proof['other_loop']}, everywhere. Measure again: the certainty from which "
            "Stated is said stays as it was, because this one was measured with the other loop."
        )
    return _say_certainty(proof)


def _say_certainty(proof: Proof) -> str:
    """Say from which certainty on answers are now given as "Stated"."""
    chosen = proof["threshold"]
    if chosen is None:
        return (
            "No certainty could be chosen, so nothing was changed: there are too few stated answers, or too many wrong."
        )
    if not chosen["from"]:
        return "The usual certainty suffices on this collection, so Stated is said as before."
    certainty = f"{chosen['from']:.3f}"
    return f"From now on Stated is said from a certainty of {certainty} on this collection, by {proof['answerer']}."


def _index(folder: Path) -> LocalCollection:
    """Index a folder and return its collection. Raise BadInput if no file in it can be read."""
    from prefrag.collections.indexing import index
    from prefrag.collections.local_collection import LocalCollection

    check_folder(folder)
    collection = LocalCollection.of_folder(folder)
    with console(stderr=True).status("indexing the folder"):
        report = index([folder], collection, prune=True)
    if report.skipped:
        files = counted(len(report.skipped), "file")
        console(stderr=True).print(f"{files} could not be read: prefrag index {folder} says why.", markup=False)
    with closing(collection.passages()) as passages:
        has_passages = any(True for _ in passages.all())
    if not has_passages:
        raise BadInput(f"{folder} holds no file that can be read.")
    return collection


def _say_feedback(collection: str) -> str:
    """Say how many answers on a collection the user has marked as wrong. Empty without feedback."""
    from prefrag.server.library.feedback import read_feedback

    ratings = []
    for entry in read_feedback():
        # An entry that cannot be read is None.
        if entry is not None and entry.collection == collection:
            ratings.append(entry.rating)
    if not ratings:
        return ""
    rated_answers = counted(len(ratings), "rated answer")
    wrong = ratings.count("down")
    return f"Your own verdicts: of {rated_answers} on this collection {wrong} were marked wrong."
