"""Measure what pipelines do with a real small language model, with the prompts that users get.

    python -m benchmarks.small_model demo own hotpotqa --url http://127.0.0.1:8080/v1 --minutes 40
    python -m benchmarks.small_model demo own --pipeline reader --pipeline vanilla_mix --url http://127.0.0.1:8080/v1
    python -m benchmarks.small_model                       # only the table of what was measured so far

The sets: `demo` (its questions 21 to 60; `demo-train` are the first 20), `own` (40 questions over the files of invented
offices that these answer, 20 that they do not; `own-train` are those for fitting), and `hotpotqa`, `2wiki`, `musique`
and `bioasq` (50 of dev, the corpus divided between the sources). The pipeline `reader` is `prefrag` without a model.

A question that was asked is not asked again: the same command continues where it was stopped, and asks once more only
the question in progress. `predictions.jsonl` in a cell's folder has a line per question with the result, the trace and
every call of the model with prompt and reply. What the model said is also in a recording, which all labels of a cell
share: after a change of the code, `--label NAME` asks the model only what it was never asked, and `--replay` nothing.
`--cases FILE` writes short replies from all that was measured, for tests of the parsers.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import httpx
import numpy as np
import typer

from benchmarks.kept_calls import CALLS, KeptCalls
from benchmarks.places import MULTIHOP
from prefrag.collections import indexing
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.recording import NotRecorded
from prefrag.components.text.number_words import VALUE_OF_NUMBER_WORD
from prefrag.errors import find_cause
from prefrag.evaluation.datasets import load_questions
from prefrag.evaluation.metrics.answers import f1, normalise
from prefrag.evaluation.metrics.counts import count_unparsable
from prefrag.evaluation.own_files.office_documents import read_organisations, write_organisations
from prefrag.evaluation.pipeline_under_test.experiment import READER, Experiment
from prefrag.evaluation.pipeline_under_test.pipeline_blocks import RECORDED
from prefrag.evaluation.pipeline_under_test.setup import Setup
from prefrag.evaluation.question import Question
from prefrag.evaluation.report.intervals import Interval, intervals, wilson
from prefrag.evaluation.runs.predictor import Predictor
from prefrag.evaluation.runs.run_folder import PREDICTIONS, RunFolder
from prefrag.evaluation.settings_file import make_settings, read_fields, split_changes
from prefrag.pipelines.loading import build
from prefrag.pipelines.replacing import replace_parts

CHECKOUT = Path(__file__).resolve().parent.parent
OUTPUT = CHECKOUT / "runs" / "small_model"
# The sets of which the corpus is divided between the sources, and their folders.
DIVIDED = {"hotpotqa": "hotpotqa", "2wiki": "2wikimultihopqa", "musique": "musique", "bioasq": "bioasq"}
SETS = ("demo", "demo-train", "own", "own-train", *DIVIDED)
ANSWERABLE, UNANSWERABLE = 40, 20  # questions of the set `own`
FROM_DIVIDED = 50  # questions of a set in `DIVIDED`
RIVALS = ("reader", "vanilla_mix", "dr_rag_linked")

# What is asked of `prefrag` with a small model. Shares are in percent.
MOST_UNREADABLE = 0.0
MOST_REPEATED = 0.0
MOST_BEFORE_A_SEARCH = 0.0
MOST_COPIED = 2.0
LEAST_SEARCHED = 100.0
LEAST_RIGHT = {"demo": 16, "own": 20}
LEAST_RIGHT_OF_GIVEN = {"demo": 85.0, "own": 90.0}
MOST_UNANSWERABLE_ANSWERED = 1
MOST_CALLS, MOST_NEW_TOKENS = 3.0, 1_000.0

SHARES = (
    *("given", "right", "right of given", "wrong of given", "unanswerable answered", "unreadable"),
    *("placeholder copied", "query repeated", "answer before search", "documents searched", "failed"),
)
MEANS = ("F1", "calls", "new tokens", "tokens", "seconds")
# A reply out of the recording takes less: a question with such a reply says nothing about time.
_PLAYED_BACK = 0.02
_SECONDS_A_RUN = 3_600
_FEW_WORDS = 4  # shorter texts, such as the name of an action, may well equal a line of the prompt
_LONGEST_CASE = 600


def read_set(
    name: str, output: Path, from_divided: int = FROM_DIVIDED
) -> tuple[list[Question], dict[str, Any], dict[str, str]]:
    """Read the questions of a set, the settings of its experiment, and the environment; index the office files once."""
    if name.startswith("demo"):
        asked = load_questions(CHECKOUT / "demo" / "questions.jsonl")
        corpora = {"corpus": CHECKOUT / "demo" / "local.jsonl", "web_corpus": CHECKOUT / "demo" / "web.jsonl"}
        return (asked[:20] if name == "demo-train" else asked[20:]), corpora, {}
    if name in DIVIDED:
        folder = MULTIHOP / DIVIDED[name]
        asked = load_questions(folder / "dev.jsonl", limit=from_divided)
        return asked, {"corpus": folder / "corpus.jsonl", "split": True}, {}
    train = name == "own-train"
    files = output / "documents" / name
    if not files.is_dir():
        write_organisations(files, train)
    indexing.index([files], LocalCollection(name))
    offices = {file["path"].partition("/")[0] for file in read_organisations(train)}
    lines = load_questions(CHECKOUT / "evaluation" / "own_files" / f"{'train' if train else 'dev'}.jsonl")
    chosen = [question for question in lines if question.id.rpartition("-")[0] in offices and not question.history]
    answerable = [question for question in chosen if question.answerable][:ANSWERABLE]
    unanswerable = [question for question in chosen if not question.answerable][:UNANSWERABLE]
    # In turn, so that a part of the set is like the whole.
    share = len(answerable) // max(1, len(unanswerable))
    turns = [[*answerable[share * n : share * (n + 1)], question] for n, question in enumerate(unanswerable)]
    return list(chain(*turns)), {}, {"PREFRAG_INDEX": name, "PREFRAG_WEB": "off"}


def is_right(prediction: Mapping[str, Any]) -> bool:
    """Check whether the answer has a gold answer as whole words or, of a yes/no question, begins with the right one."""
    answer = _plain(str(prediction["result"].get("answer") or ""))
    golds = map(_plain, prediction["answers"])
    if set(prediction["answers"]) <= {"yes", "no"}:
        return answer.split()[:1] == prediction["answers"][:1]
    return any(gold and f" {gold} " in f" {answer} " for gold in golds)


def _plain(text: str) -> str:
    words = normalise(re.sub(r"[^\w\s]", "", re.sub(r"[-\u2010-\u2015/]", " ", text.casefold()))).split()
    # A model writes "5 years" where the gold answer has "five years".
    return " ".join(str(VALUE_OF_NUMBER_WORD.get(word, word)) for word in words)


def count_question(prediction: Mapping[str, Any]) -> dict[str, float]:
    """Count what a question brought and cost; a measure that does not apply to it is left out."""
    result, calls = prediction["result"], prediction.get("calls") or ()
    given, usage = bool(result.get("answered")), result.get("usage") or {}
    trace = result.get("trace") or ()
    counts = result.get("counts") or {}
    found = [event for event in trace if event["kind"] == "found" and not event.get("error")]
    sent = [(event["source"], str(event.get("query")).casefold()) for event in found]
    read, written, cached = (usage.get(f"{kind}_tokens") or 0 for kind in ("prompt", "completion", "cached"))
    counted = {
        "query repeated": float(len(sent) > len(set(sent))),
        "answer before search": float(_answers_first(result)),
        "documents searched": float(bool(counts.get("total_local"))),
        "failed": float(bool(prediction.get("error"))),
        "calls": float(usage.get("llm_calls") or 0),
        "new tokens": float(read + written - cached),
        "tokens": float(read + written),
    }
    if all(call.get("seconds", 0) > _PLAYED_BACK for call in calls):
        counted["seconds"] = float(prediction["seconds"])
    if prediction.get("answerable") is False:
        return {**counted, "unanswerable answered": float(given)}
    right = float(given and is_right(prediction))
    counted |= {"given": float(given), "right": right}
    counted["F1"] = 100 * f1(str(result.get("answer") or ""), prediction["answers"]) if given else 0.0
    return {**counted, "right of given": right, "wrong of given": 1 - right} if given else counted


def _answers_first(result: Mapping[str, Any]) -> bool:
    trace = result.get("trace") or ()
    kinds = [event["kind"] for event in trace if event["kind"] in ("found", "answer")]
    if kinds[:1] == ["answer"]:
        return True
    return bool(result.get("answered")) and "found" not in kinds


def count_copied(prediction: Mapping[str, Any]) -> int:
    """Count the replies with a line, or a field, that is a line of the prompt and neither the question nor quoted.

    A line that an earlier reply wrote by itself stands in the prompt too, and is no copy.
    """
    own = set(_lines(prediction["question"]))
    copied = 0
    for call in prediction.get("calls") or ():
        texts = [message["text"] for message in call["messages"] if message["role"] != "assistant"]
        laid_out = json.dumps([call["parameters"], call["tools"]], ensure_ascii=False, default=str)
        prompt, reply = set(_lines("\n".join([*texts, laid_out]))), set(_lines(text_of(call)))
        copied += bool(reply & prompt - own)
        own |= reply - prompt
    return copied


def text_of(call: Mapping[str, Any]) -> str:
    """Return all that a reply says, with the arguments of its tool calls."""
    reply = call.get("reply") or {}
    arguments = [json.dumps(call["arguments"], ensure_ascii=False) for call in reply.get("tool_calls") or ()]
    return "\n".join([reply.get("text") or "", *arguments])


def _lines(text: str) -> Iterator[str]:
    for line in [*text.splitlines(), *re.findall(r'"([^"]+)"', text)]:
        if not line.startswith(("| ", "[", "Title:")):  # of a passage
            for part in (line, line.partition(":")[2]):
                if len(part.split()) >= _FEW_WORDS:
                    yield part.strip(' *_`"').casefold()


def summarise(predictions: Sequence[Mapping[str, Any]]) -> dict[str, Interval]:
    """Return each measure with its interval: Wilson's for a share of questions or calls, in percent, else bootstrap."""
    gathered: dict[str, list[float]] = {}
    for prediction in predictions:
        for name, value in count_question(prediction).items():
            gathered.setdefault(name, []).append(value)
    calls = sum(len(prediction.get("calls") or ()) for prediction in predictions)
    unread = sum(count_unparsable(prediction["result"]) for prediction in predictions)
    for name, number in {"unreadable": unread, "placeholder copied": sum(map(count_copied, predictions))}.items():
        gathered[name] = [float(place < number) for place in range(calls)]
    figures = {}
    for name, values in gathered.items():
        if values and name in SHARES:
            figures[name] = wilson(100 * sum(values) / len(values), len(values))
        elif values:
            figures[name] = intervals(np.array([values]).T)[0]
    return figures


def count_of(figure: Interval | None) -> int:
    """Return how many of the n a share is."""
    return 0 if figure is None else round(figure.mean * figure.n / 100)


def lay_out(cells: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return a Markdown table with a row per cell."""
    rows = [["cell", "n", *SHARES, *MEANS]]
    for name, predictions in cells.items():
        figures = summarise(predictions)
        shares = [_show_share(figures.get(share)) for share in SHARES]
        means = [_show_mean(figures.get(mean)) for mean in MEANS]
        rows.append([f"`{name}`", str(len(predictions)), *shares, *means])
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _show_share(figure: Interval | None) -> str:
    if figure is None:
        return ""
    return f"{count_of(figure)} of {figure.n}: {figure.mean:.0f}% ({figure.low:.0f} to {figure.high:.0f})"


def _show_mean(figure: Interval | None) -> str:
    if figure is None:
        return ""
    return f"{figure.mean:.1f} ({figure.low:.1f} to {figure.high:.1f})"


def list_shortfalls(name: str, pipelines: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Say what a set's `prefrag` lacks of what is asked. ``pipelines`` has the predictions of each pipeline."""
    figures = {pipeline: summarise(predictions) for pipeline, predictions in pipelines.items()}
    mine = figures["prefrag"]

    def show(measure: str, asked: str, is_met: bool) -> list[str]:
        if is_met:
            return []
        write = _show_share if measure in SHARES else _show_mean
        return [f"{name}, {measure}: {write(mine.get(measure)) or 'none'}; asked is {asked}"]

    def bound(measure: str, asked: float, most: bool) -> list[str]:
        # Without any value, nothing is over a limit, and nothing is enough.
        value = mine[measure].mean if measure in mine else 0.0
        if most:
            return show(measure, f"at most {asked:g}", value <= asked)
        return show(measure, f"at least {asked:g}", value >= asked)

    short = [
        *bound("unreadable", MOST_UNREADABLE, True),
        *bound("placeholder copied", MOST_COPIED, True),
        *bound("query repeated", MOST_REPEATED, True),
        *bound("answer before search", MOST_BEFORE_A_SEARCH, True),
        *bound("documents searched", LEAST_SEARCHED, False),
        *bound("calls", MOST_CALLS, True),
        *bound("new tokens", MOST_NEW_TOKENS, True),
    ]
    right = count_of(mine.get("right"))
    if name in LEAST_RIGHT:
        short += show("right", f"at least {LEAST_RIGHT[name]} questions", right >= LEAST_RIGHT[name])
        short += bound("right of given", LEAST_RIGHT_OF_GIVEN[name], False)
    bluffs = count_of(mine.get("unanswerable answered"))
    short += show(
        "unanswerable answered", f"at most {MOST_UNANSWERABLE_ANSWERED}", bluffs <= MOST_UNANSWERABLE_ANSWERED
    )
    for rival in RIVALS if name == "demo" else ():
        theirs, wrong = figures[rival], count_of(mine.get("wrong of given"))
        more, fewer = count_of(theirs.get("right")), count_of(theirs.get("wrong of given"))
        short += show("right", f"more than the {more} of {rival}", right > more)
        short += show("wrong of given", f"no more than the {fewer} of {rival}", wrong <= fewer)
    if name == "hotpotqa":
        other = figures["vanilla_mix"]["F1"].mean
        short += show("F1", f"at least the {other:.1f} of vanilla_mix", mine["F1"].mean >= other)
    return short


def read_cells(output: Path) -> dict[str, list[dict[str, Any]]]:
    """Read all predictions in a folder, by the name of the cell."""
    cells = {}
    for file in sorted(output.glob(f"*/{PREDICTIONS}")):
        lines = file.read_text("utf-8").split("\n")
        cells[file.parent.name] = [json.loads(line) for line in lines if line.endswith("}")]
    return cells


def list_cases(cells: Mapping[str, Sequence[Mapping[str, Any]]], most: int) -> list[dict[str, Any]]:
    """List short replies of all cells in turn, each only once, those of one cell spread over its questions."""
    by_cell = []
    for name, predictions in cells.items():
        of_cell = []
        for prediction in predictions:
            calls = [call for call in prediction.get("calls") or () if 0 < len(text_of(call)) <= _LONGEST_CASE]
            of_cell += [{"cell": name, "question": prediction["question"], **call} for call in calls]
        by_cell.append(of_cell)
    cases: dict[str, dict[str, Any]] = {}
    for place in range(most):
        for calls in filter(None, by_cell):
            case = calls[place * len(calls) // most]
            cases.setdefault(text_of(case).casefold(), case)
    return list(cases.values())[:most]


async def measure(
    setup: Setup,
    asked: Sequence[Question],
    folder: RunFolder,
    environment: Mapping[str, str],
    until: float,
    retry_failed: bool,
) -> None:
    """Ask those questions of a cell that were not asked yet, until the time is over."""
    name, url = folder.path.name, setup.experiment.server
    config = {**setup.config, "dataset": name.partition("-")[0]}
    kept_type = f"{KeptCalls.__module__}.{KeptCalls.__name__}"
    with folder.lock(), setup.environment():
        # A replay opens the web, but a run in which it was closed called no judge.
        os.environ |= environment
        folder.check(config)
        done = folder.predictions({question.id for question in asked})
        if retry_failed:
            done = [prediction for prediction in done if not prediction["error"]]
            folder.rewrite(done)
        done_ids = {prediction["id"] for prediction in done}
        pending = [question for question in asked if question.id not in done_ids]
        if not pending or time.monotonic() > until:
            return
        folder.open(config)
        keeping = replace_parts(
            setup.block, lambda block: {**block, "type": kept_type} if block["type"] == RECORDED else block
        )
        pipeline = build(keeping, setup.name)
        pipeline.warm_up()
        predictor = Predictor(pipeline, retries=0, deadline=_SECONDS_A_RUN, contents=True, simulated=False)
        for number, question in enumerate(pending, start=len(done) + 1):
            if time.monotonic() > until:
                return
            if url is not None:
                find_model(url)
            CALLS.clear()
            try:
                prediction, _ = await predictor.predict(question)
            except ValueError as error:
                if find_cause(error, NotRecorded) is None:
                    raise
                typer.echo(f"{name} {number}/{len(asked)} {question.id}: the recording lacks a call", err=True)
                continue
            if prediction["error"] and url is not None:
                find_model(url)  # the failure of a server that is gone is not the question's
            folder.add({**prediction, "calls": list(CALLS)})
            shown = prediction["error"] or prediction["result"].get("answer") or "no answer"
            typer.echo(f"{name} {number}/{len(asked)} {question.id}: {prediction['seconds']:.0f} s, {shown[:80]}")


def find_model(url: str) -> str:
    """Return the first model of a server; raise ConnectionError if the server does not answer."""
    try:
        return str(httpx.get(f"{url.rstrip('/')}/models", timeout=60).raise_for_status().json()["data"][0]["id"])
    except (httpx.HTTPError, ValueError, LookupError) as error:
        raise ConnectionError(f"No model server answers at {url}: start one, and run this again. {error}") from error


def name_cell(name: str, pipeline: str, label: str = "") -> str:
    """Return the name of a cell's folder."""
    return "-".join(filter(None, (name, Path(pipeline).stem, label)))


def main(
    sets: Annotated[list[str] | None, typer.Argument(help=f"Any of {', '.join(SETS)}.")] = None,
    pipelines: Annotated[list[str] | None, typer.Option("--pipeline", help="By default prefrag.")] = None,
    url: Annotated[str | None, typer.Option(help="The model server.", envvar="PREFRAG_TEST_MODEL_URL")] = None,
    model: Annotated[
        str | None, typer.Option(help="By default the server's first.", envvar="PREFRAG_TEST_MODEL_NAME")
    ] = None,
    output: Annotated[Path, typer.Option(help="The folder of all cells.")] = OUTPUT,
    limit: Annotated[
        int | None, typer.Option(help="Ask only the first questions of each cell.", envvar="PREFRAG_TEST_MODEL_LIMIT")
    ] = None,
    from_divided: Annotated[int, typer.Option(help="How many of dev of a divided set there are.")] = FROM_DIVIDED,
    minutes: Annotated[
        float | None, typer.Option(help="Begin no question after this time.", envvar="PREFRAG_TEST_MODEL_MINUTES")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="As for `prefrag evaluate`; needs a label.")
    ] = None,
    label: Annotated[str, typer.Option(help="Part of the cells' names, for another setting or code.")] = "",
    replay: Annotated[bool, typer.Option("--replay", help="Call no model; needs a label.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask again where a run failed.")] = False,
    cases: Annotated[Path | None, typer.Option(help="Write short replies here, as JSON lines.")] = None,
    most_cases: Annotated[int, typer.Option(help="How many replies to write.")] = 30,
) -> None:
    """Measure the cells of these sets and pipelines, and print a table of all cells so far."""
    unknown = set(sets or ()) - set(SETS)
    if unknown:
        raise typer.BadParameter(f"there is no set {', '.join(unknown)}: choose from {', '.join(SETS)}")
    is_variant = bool(changes) or replay
    if is_variant and not label:
        raise typer.BadParameter("give this variant a name of its own: --label NAME")
    until = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    output = output.expanduser().resolve()
    os.environ |= {"PREFRAG_DATA_DIR": str(output / "data"), "PREFRAG_RUN_SECONDS": str(_SECONDS_A_RUN)}
    os.environ |= {"HAYSTACK_DESERIALIZATION_ALLOWLIST": "prefrag,duckduckgo_api_haystack,benchmarks"}
    os.environ.setdefault("PREFRAG_LLM_SECONDS", "600")
    single, of_pipeline = split_changes(changes or ())
    shared = {"prompts": "product", "changes": of_pipeline, **read_fields(Experiment, None, single)}
    try:
        for name in sets or ():
            asked, settings, environment = read_set(name, output, from_divided)
            for variable in ("PREFRAG_INDEX", "PREFRAG_WEB"):
                os.environ.pop(variable, None)
            os.environ |= environment
            for pipeline in pipelines or ["prefrag"]:
                recording = output / "recordings" / f"{name_cell(name, pipeline)}.jsonl"
                if pipeline == "reader":
                    used = {"llm": READER}
                elif replay:
                    used = {"replay": recording}
                elif url is None:
                    raise typer.BadParameter("no model server: give --url")
                else:
                    used = {"llm": url, "model": model or find_model(url), "record": recording}
                cell, yaml = name_cell(name, pipeline, label), "prefrag" if pipeline == "reader" else pipeline
                setup = Setup(yaml, make_settings(Experiment, settings | shared | used))
                folder = RunFolder(output / cell)
                asyncio.run(measure(setup, asked[:limit], folder, environment, until, retry_failed))
    except ConnectionError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    found = read_cells(output)
    if cases is not None:
        _write_lines(cases, list_cases(found, most_cases))
    typer.echo(lay_out(found))


def _write_lines(file: Path, records: Iterable[Mapping[str, Any]]) -> None:
    file.write_text("".join(json.dumps(record, ensure_ascii=False, default=str) + "\n" for record in records), "utf-8")


if __name__ == "__main__":
    typer.run(main)
