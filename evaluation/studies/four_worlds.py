"""Ask the same questions where the answer is at home, only on the web, on both, and nowhere.

    python -m prefrag.evaluation.studies.four_worlds FOLDER_OF_DATASETS/hotpotqa --output runs/worlds --llm reader
    python -m prefrag.evaluation.studies.four_worlds demo --output runs/worlds --llm URL --limit 20

A dataset is a folder with `corpus.jsonl` (or `local.jsonl` and `web.jsonl`) and the questions. "Home" means the user's
own documents. The worlds differ only in where the gold passages of the questions are. All other passages stay in their
source:

- `home`: the gold passages are at home.
- `web`: they are only on the web.
- `both`: they are at home, and as a copy on the web. The copy has another question's answer in place of the answer.
- `nowhere`: they are in neither source, so every answer counts as wrong. Another passage may still state the answer.
  Such questions are left out and counted.

Queries to the web follow the rules for an external source (`start.rules.outside`): if no model writes a query, the web
gets the question, once.

The study counts what a run did:

- whether it searched at home first
- how often it searched the web although home has the answer (needless)
- how often it did not search the web although only the web has the answer (missed)
- what was sent, what it answered, and which source the answer cites
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import typer
from haystack import Document

from prefrag.errors import BadInput
from prefrag.evaluation.datasets import load_questions, read_passages
from prefrag.evaluation.datasets.jsonl import SPLIT, write_jsonl
from prefrag.evaluation.metrics.answers import normalise
from prefrag.evaluation.pipeline_under_test.experiment import Experiment
from prefrag.evaluation.question import PredictionLine, Question
from prefrag.evaluation.report.intervals import Interval, wilson
from prefrag.evaluation.runs.runner import run
from prefrag.evaluation.settings_file import make_settings, read_fields, split_changes
from prefrag.evaluation.studies.tables import make_table
from prefrag.pipelines.loading import find, read_block

# The names of the worlds.
WORLDS = ("home", "web", "both", "nowhere")
# The source at home has this name.
LOCAL = "local"
# The source on the web has this name.
WEB = "web"
# The sources that have the gold passages in each world.
_PLACES = {"home": (LOCAL,), "web": (WEB,), "both": (LOCAL, WEB), "nowhere": ()}
# The share of unanswerable questions that one column of the table assumes.
_UNANSWERABLE = 1 / 3


@dataclass(frozen=True)
class World:
    """Two sources in which the gold passages of the questions have a place.

    :param name: One of :data:`WORLDS`.
    :param questions: The questions. In the world `nowhere`, none of them can be answered.
    :param passages: The passages of each source.
    :param wrong: In the world `both`, the answer that the copies on the web state, by the id of the question. Otherwise
        empty.
    """

    name: str
    questions: tuple[Question, ...]
    passages: Mapping[str, tuple[Document, ...]]
    wrong: Mapping[str, str]


def read_dataset(folder: Path) -> list[Document]:
    """Read the passages of a dataset, with the source of each in the metadata.

    :param folder: A folder with `corpus.jsonl`, whose lines name their `source`, or with `local.jsonl` and `web.jsonl`.
    :returns: The passages. A passage whose line names no source is in both sources.
    """
    whole = folder / "corpus.jsonl"
    if whole.is_file():
        return list(read_passages(whole))
    passages = []
    for source in (LOCAL, WEB):
        for passage in read_passages(folder / f"{source}.jsonl"):
            passages.append(replace(passage, meta={**passage.meta, SPLIT: source}))
    return passages


def make_world(name: str, questions: Sequence[Question], passages: Sequence[Document]) -> World:
    """Make a world.

    :param name: One of :data:`WORLDS`.
    :param questions: The questions, with the ids of their gold passages.
    :param passages: The passages of the dataset, as :func:`read_dataset` returns them.
    :returns: The world. It lacks questions without a gold passage. In `nowhere`, it also lacks questions whose answer
        another passage states.
    """
    by_id = {passage.id: passage for passage in passages}
    asked = [question for question in questions if not by_id.keys().isdisjoint(question.supporting_ids)]
    gold: set[str] = set()
    for question in asked:
        gold.update(question.supporting_ids)
    other_passages = [passage for passage in passages if passage.id not in gold]

    copies: dict[str, Document] = {}
    wrong_answers: dict[str, str] = {}
    if name == "both":
        copies, wrong_answers = _contradict(asked, by_id)
    members: dict[str, tuple[Document, ...]] = {}
    for source in (LOCAL, WEB):
        of_source = [passage for passage in other_passages if _is_in(passage, source)]
        if source in _PLACES[name]:
            for passage_id in sorted(gold & by_id.keys()):
                passage = by_id[passage_id]
                # Only the web gets copies with a wrong answer.
                of_source.append(copies.get(passage_id, passage) if source == WEB else passage)
        # Both sources have indexes of their own. So the names of sources in the passages mean nothing any more.
        members[source] = tuple(_without_source(passage) for passage in of_source)

    if name == "nowhere":
        asked = [_without_answer(question) for question in asked if not _is_stated(question, other_passages)]
    return World(name, tuple(asked), members, wrong_answers)


def _is_in(passage: Document, source: str) -> bool:
    """Check whether a passage is in a source. Without a name of a source, it is in both."""
    return passage.meta.get(SPLIT, "both") in (source, "both")


def _without_source(passage: Document) -> Document:
    """Copy a passage without the name of its source."""
    return replace(passage, meta={key: value for key, value in passage.meta.items() if key != SPLIT})


def _without_answer(question: Question) -> Question:
    """Copy a question as one that no passage answers."""
    return replace(question, answers=(), answerable=False, supporting_ids=(), decomposition=(), evidence_triples=())


def _choose_wrong(questions: Sequence[Question]) -> dict[str, str]:
    """Choose for each question the answer of another question that has the same form."""
    answerable = [question for question in questions if not question.is_yes_no]
    wrong_answers = {}
    for position, question in enumerate(answerable):
        right = question.answers[0]
        following = [*answerable[position + 1 :], *answerable[:position]]
        for other in following:
            wrong = other.answers[0]
            if _form(wrong) == _form(right) and normalise(wrong) != normalise(right):
                wrong_answers[question.id] = wrong
                break
    return wrong_answers


def _form(answer: str) -> tuple[int, bool]:
    """Return the form of an answer: the number of its words, and whether it has a digit.

    For example, ``_form("3 May 2026")`` returns ``(3, True)``.
    """
    return len(answer.split()), any(character.isdigit() for character in answer)


def _contradict(
    questions: Sequence[Question], by_id: Mapping[str, Document]
) -> tuple[dict[str, Document], dict[str, str]]:
    """Copy the gold passages so that text and title state a wrong answer. Return the copies, and the wrong answers."""
    copies: dict[str, Document] = {}
    wrong_answers: dict[str, str] = {}
    question_by_id = {question.id: question for question in questions}
    for question_id, wrong in _choose_wrong(questions).items():
        question = question_by_id[question_id]
        golds = re.compile("|".join(_whole(answer).pattern for answer in question.answers), re.IGNORECASE)
        for passage_id in question.supporting_ids:
            passage = copies.get(passage_id) or by_id.get(passage_id)
            if passage is None:
                continue
            text = golds.sub(lambda _, answer=wrong: answer, passage.content or "")  # type: ignore[misc]
            title = golds.sub(lambda _, answer=wrong: answer, str(passage.meta.get("title") or ""))  # type: ignore[misc]
            if text != passage.content:
                copies[passage_id] = replace(passage, content=text, meta={**passage.meta, "title": title})
                wrong_answers[question_id] = wrong
    return copies, wrong_answers


def _whole(words: str) -> re.Pattern[str]:
    """Return a pattern that matches these words only as whole words, in upper or lower case."""
    return re.compile(rf"(?<!\w){re.escape(words)}(?!\w)", re.IGNORECASE)


def _is_stated(question: Question, passages: Iterable[Document]) -> bool:
    """Check whether a passage states an answer of the question.

    It does if it has the answer and at least one name from the question. A question without names needs only the
    answer.
    """
    answers = [_whole(answer) for answer in question.answers if not question.is_yes_no]
    # Names are words of four letters and more with a capital. The first letter of the question is always a capital, so
    # it does not count.
    names = {word.casefold() for word in re.findall(r"\w{4,}", question.question[1:]) if word[0].isupper()}
    for passage in passages:
        title = passage.meta.get("title") or ""
        text = f"{title} {passage.content or ''}"
        is_named = not names or bool(names & set(re.findall(r"\w+", text.casefold())))
        if is_named and any(answer.search(text) for answer in answers):
            return True
    return False


def count_question(world: World, prediction: PredictionLine) -> dict[str, float]:
    """Count what a run did with one question.

    :param world: The world in which the question was asked.
    :param prediction: A line of `predictions.jsonl`.
    :returns: Each measure that applies. `words sent` is the number of words in queries to the web, and `calls` the
        number of model calls. All other measures are 0 or 1.
    """
    result = prediction["result"]
    answers = [normalise(answer) for answer in prediction["answers"]]
    searches = [event for event in result.get("trace") or () if event["kind"] == "found"]
    sent = [str(event.get("query") or "") for event in searches if event["source"] != LOCAL]
    usage = result.get("usage") or {}
    answer = normalise(str(result.get("answer") or ""))
    is_given = bool(result.get("answered"))
    gold_texts = [gold for gold in answers if gold]
    is_right = is_given and any(f" {gold} " in f" {answer} " for gold in gold_texts)

    counts = {
        "home first": float(bool(searches) and searches[0]["source"] == LOCAL),
        "web asked": float(bool(sent)),
        "words sent": float(sum(len(query.split()) for query in sent)),
        "given": float(is_given),
        "calls": float(usage.get("llm_calls") or 0),
    }
    if world.name != "nowhere":
        counts["right"] = float(is_right)
    if not is_given:
        return counts
    counts["right of given"] = float(is_right)

    cited = {citation["source"] for citation in result.get("citations") or ()}
    if cited:
        counts["own cited"] = float(cited == {LOCAL})
    false_answer = normalise(world.wrong.get(prediction["id"], ""))
    if false_answer and not is_right and WEB in cited:
        counts["wrong of the web"] = float(f" {false_answer} " in f" {answer} ")
    return counts


def summarise(world: World, predictions: Sequence[PredictionLine]) -> dict[str, Interval | float]:
    """Summarise the measures of a world.

    :param world: The world.
    :param predictions: What a pipeline did with the questions.
    :returns: The mean of each measure. For `words sent` and `calls`, it is a number. For all other measures, it is a
        share in percent with Wilson's interval.
    """
    values_by_measure: dict[str, list[float]] = {}
    for prediction in predictions:
        for measure, value in count_question(world, prediction).items():
            values_by_measure.setdefault(measure, []).append(value)
    results: dict[str, Interval | float] = {}
    for measure, values in values_by_measure.items():
        if measure in ("words sent", "calls"):
            results[measure] = mean(values)
        else:
            results[measure] = wilson(100 * mean(values), len(values))
    return results


def lay_out(figures: Mapping[str, Mapping[str, Mapping[str, Interval | float]]]) -> str:
    """Write a table with a row per pipeline.

    :param figures: The results of :func:`summarise` by pipeline and world.
    :returns: The table as Markdown.
    """
    columns = {
        "home first": lambda row: _share(row["home"].get("home first")),
        "needless web (home)": lambda row: _share(row["home"].get("web asked")),
        "missed web (web)": lambda row: _share_without(row["web"].get("web asked")),
        "words sent (home)": lambda row: f"{row['home'].get('words sent', 0.0):.1f}",
        "given, right (home)": lambda row: _given(row["home"]),
        "given, right (web)": lambda row: _given(row["web"]),
        "given, right (both)": lambda row: _given(row["both"]),
        "own cited (both)": lambda row: _share(row["both"].get("own cited")),
        "the web's wrong answer (both)": lambda row: _count(row["both"].get("wrong of the web")),
        "answered (nowhere)": lambda row: _share(row["nowhere"].get("given")),
        "right of given, a third unanswerable": _mixed,
        "calls (home, web)": lambda row: f"{row['home'].get('calls', 0.0):.1f} / {row['web'].get('calls', 0.0):.1f}",
    }
    rows = {}
    for name, row in figures.items():
        rows[f"`{name}`"] = [show(row) for show in columns.values()]
    return make_table(["pipeline", *columns], rows)


def _share(share: Interval | float | None) -> str:
    """Write a share with its interval."""
    if not isinstance(share, Interval):
        return "-"
    return f"{share.mean:.0f}% ({share.low:.0f} to {share.high:.0f}; n {share.n})"


def _share_without(share: Interval | float | None) -> str:
    """Write the share of all other questions with its interval: 70% for a share of 30%."""
    if not isinstance(share, Interval):
        return "-"
    return _share(Interval(100 - share.mean, 100 - share.high, 100 - share.low, share.n))


def _count(share: Interval | float | None) -> str:
    """Write the number of questions that a share stands for."""
    if not isinstance(share, Interval):
        return "0"
    return f"{share.mean * share.n / 100:.0f}"


def _given(results: Mapping[str, Interval | float]) -> str:
    """Write how many answers were given and how many were right."""
    return f"{_count(results.get('given'))}, {_count(results.get('right'))}"


def _mixed(worlds: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the share of right answers among those given, if a third of the questions has no answer.

    The other worlds have equal weights.
    """
    weights = dict.fromkeys(WORLDS, (1 - _UNANSWERABLE) / 3)
    weights["nowhere"] = _UNANSWERABLE
    given = right = 0.0
    for world, weight in weights.items():
        if "given" in worlds[world]:
            given += weight * worlds[world]["given"].mean
        # In `nowhere`, no answer is right.
        if "right" in worlds[world]:
            right += weight * worlds[world]["right"].mean
    return f"{100 * right / given:.0f}%" if given else "-"


def list_worlds(folder: Path, questions: str, limit: int | None) -> Iterator[World]:
    """Read a dataset and make its four worlds.

    :param folder: The dataset.
    :param questions: The name of the file of questions, without its ending.
    :param limit: The maximum number of questions. None means all.
    :returns: An iterator over the worlds.
    """
    passages = read_dataset(folder)
    all_questions = load_questions(folder / f"{questions}.jsonl", limit=limit)
    for name in WORLDS:
        yield make_world(name, all_questions, passages)


def ask_world(world: World, pipeline: str, experiment: Experiment, output: Path) -> list[PredictionLine]:
    """Index the sources of a world, and have a pipeline answer its questions.

    :param world: The world.
    :param pipeline: The name of a pipeline, or a YAML file.
    :param experiment: The settings. Its two corpora are replaced.
    :param output: The folder of the study. A second call continues where the first was stopped.
    :returns: The predictions.
    """
    corpora = {}
    for source, passages in world.passages.items():
        file = output / "worlds" / f"{world.name}_{source}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_jsonl(passages, file)
        corpora[source] = file
    if not world.questions:
        return []

    start = read_block(find(pipeline))["components"].get("start", {}).get("init_parameters", {})
    # The rules for an external source. Changes of the caller come later, so they override this one.
    changes = list(experiment.changes)
    if WEB in start.get("external_sources", ()):
        changes.insert(0, f"start.rules.outside=[{WEB}]")
    settings = replace(experiment, corpus=corpora[LOCAL], web_corpus=corpora[WEB], changes=tuple(changes))
    folder = output / Path(pipeline).stem / world.name
    return run(pipeline, world.questions, settings, output=folder).predictions


def main(
    folder: Annotated[Path, typer.Argument(help="A dataset.")],
    output: Annotated[Path, typer.Option(help="The folder of the runs.")],
    pipelines: Annotated[list[str] | None, typer.Option("--pipeline", help="By default prefrag.")] = None,
    llm: Annotated[str, typer.Option(metavar="reader|simulated|URL|FILE.gguf", help="Who answers.")] = "reader",
    model: Annotated[str | None, typer.Option(help="The model's name on its server.")] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting.")] = None,
    questions: Annotated[str, typer.Option(help="dev, train, or the name of a file.")] = "dev",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first questions.")] = None,
) -> None:
    """Ask the questions of a dataset in four worlds, and print a table."""
    own_changes, pipeline_changes = split_changes(changes or ())
    options = {"prompts": "product", "llm": llm, "model": model, "changes": pipeline_changes}
    experiment = make_settings(Experiment, options | read_fields(Experiment, None, own_changes))
    worlds = list(list_worlds(folder, questions, limit))
    if not worlds[0].questions:
        raise BadInput(f"No question of {folder} has a gold passage in its corpus: give another dataset.")
    n_left_out = len(worlds[0].questions) - len(worlds[-1].questions)
    results: dict[str, dict[str, dict[str, Interval | float]]] = {}
    for pipeline in pipelines or ["prefrag"]:
        results[pipeline] = {}
        for world in worlds:
            predictions = ask_world(world, pipeline, experiment, output)
            results[pipeline][world.name] = summarise(world, predictions)
    typer.echo(lay_out(results))
    typer.echo(f"\nQuestions: {len(worlds[0].questions)}. Left out where no source has the answer: {n_left_out}.")


if __name__ == "__main__":
    typer.run(main)
