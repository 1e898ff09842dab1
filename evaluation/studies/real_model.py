"""Lay out what pipelines did with a real language model, from compressed records, for `evaluation/RESULTS.md`.

    python -m benchmarks.small_model hotpotqa --pipeline prefrag --url URL --output FOLDER
    python -m prefrag.evaluation.studies.real_model --add FOLDER/hotpotqa-prefrag
    python -m prefrag.evaluation.studies.real_model --into evaluation/RESULTS.md --into evaluation/DETAILS.md

A cell is what one pipeline did on one dataset. A record is the packed form of a cell. It has the settings of the cell,
and for each question what its score and its costs are computed from: the question, the gold answers and passages, the
answer, the searches and the ids of the passages shown. It also has each call of the model, with the digest of its
prompt and the reply.

The tables are computed from the records alone. A record is read only if its digest is the one in `SHA256SUMS`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PureWindowsPath
from statistics import mean
from typing import Annotated, Any

import typer

from prefrag.errors import BadInput, Missing
from prefrag.evaluation.metrics.counts import count_unparsable
from prefrag.evaluation.question import PredictionLine, Question
from prefrag.evaluation.report.comparison import Comparison, compare, paired_ids, score_intervals
from prefrag.evaluation.report.measures import ACC, CALLS, DASH, EM, F1, TOTAL, TOTAL_WEB
from prefrag.evaluation.report.runs import Run, read_runs
from prefrag.evaluation.runs.run_folder import CONFIG, PREDICTIONS
from prefrag.evaluation.studies.tables import make_table, write_into

# The folder of the records.
RECORDS = Path(__file__).parents[1] / "records"
# The file with the digest of each record.
SUMS = "SHA256SUMS"
# The ending of a record.
SUFFIX = ".jsonl.gz"
# The row that all other rows are compared with.
REFERENCE = "`prefrag`"
# The titles of the datasets, in the order of the document. Other datasets follow.
TITLES = {"hotpotqa": "HotpotQA", "2wiki": "2Wiki", "musique": "MuSiQue", "bioasq": "BioASQ"}
# The order of the rows. Other pipelines follow.
METHODS = (
    "no_retrieval",
    "vanilla_local",
    "vanilla_mix",
    "react_mix",
    "prefrag",
    "prefrag_without_preference",
    "prefrag_without_reflection",
    "mspr",
    "dr_rag_linked",
    "dr_rag_cfs",
    "crag",
)
# The measures in the table of differences.
COMPARED = (ACC, EM, F1, TOTAL, TOTAL_WEB, CALLS)
# Most rows have these prompts. A row names its prompts only if they are others.
PROMPTS = "product"
# The settings of a run that a record may have. Anything else that a run knows of its machine is left out.
_SETTINGS = (
    "pipeline",
    "pipeline_sha256",
    "set",
    "dataset",
    "sources",
    "corpus",
    "web",
    "split",
    "indexes",
    "store",
    "retriever",
    "embedder",
    "top_k",
    "prompts",
    "prompts_sha256",
    "files",
    "llm",
    "judged",
    "simulated",
    "web_sentences",
    "web_junk",
    "haystack_version",
    "limit",
)
# The parts of the description of the model that a record may have.
_MODEL = ("kind", "model", "seed", "reader", "files", "threshold", "own", "judge")
# The parts of a result that a record may have.
_RESULT = (
    "answer",
    "answered",
    "certainty",
    "not_found",
    "guess",
    "label",
    "forced",
    "probability",
    "counts",
    "usage",
)
# The parts of a query to the web that a record may have.
_SENT = ("source", "query", "provider", "seconds")
# The parts of a step that a record may have.
_STEP = ("step", "action", "query", "searched", "source")
# The parts of an event of the trace that a record may have.
_EVENT = (
    "kind",
    "step",
    "source",
    "query",
    "sent_out",
    "parsed",
    "caller",
    "status",
    "judged_by",
    "label",
    "certainty",
    "question",
)
# The parts of a reply that a record may have.
_REPLY = ("text", "tool_calls", "finish_reason", "usage")
# A call that took at most this many seconds got its reply from a recording. A question with such a call says nothing
# about time.
_PLAYED_BACK = 0.02
# Matches the name and the sign in NAME=VALUE: "start.max_steps=" in "start.max_steps=5".
_NAME = re.compile(r"[\w.]+=")
# Matches what the address of a server has: a scheme, a user, a port, or four numbers. For example, it matches in
# "http://a", "me@a", "a:80" and "10.0.0.1".
_ADDRESS = re.compile(r"://|@|:\d+$|\b\d+(\.\d+){3}\b")
# Matches the class of an error at the start of its message: "ConnectionError" in "ConnectionError: refused".
_KIND = re.compile(r"[A-Z][A-Za-z]*(?:Error|Exception|Timeout|Failed)(?=:|$)")


@dataclass(frozen=True)
class Cell:
    """What one pipeline did on one dataset."""

    # The run, as the report reads it.
    run: Run
    # What the pipeline did with each question.
    predictions: Sequence[PredictionLine]
    # The SHA-256 of the record, in hexadecimal digits.
    digest: str

    @property
    def row(self) -> str:
        """The name of the row: the pipeline with its changed settings, and its prompts if they are unusual."""
        prompts = str(self.run.config.get("prompts"))
        if prompts == PROMPTS:
            return f"`{self.run.method}`"
        return f"`{self.run.method}`, {prompts}"

    @property
    def order(self) -> tuple[object, ...]:
        """The sort key of the row."""
        pipeline = self.run.pipeline
        place = METHODS.index(pipeline) if pipeline in METHODS else len(METHODS)
        # The row of the unchanged pipeline comes first, because False sorts before True.
        is_changed = self.row != f"`{pipeline}`"
        return place, is_changed, self.row


def pack(folder: Path, records: Path) -> Path:
    """Write the record of a cell, and write its digest into the list of digests.

    :param folder: A cell of `benchmarks.small_model`, with `config.json` and `predictions.jsonl`.
    :param records: The folder of all records.
    :returns: The file of the record.
    :raises Missing: If the folder is no cell.
    """
    if not (folder / CONFIG).is_file() or not (folder / PREDICTIONS).is_file():
        raise Missing(f"{folder} has no {CONFIG} and {PREDICTIONS}: name the folder of a cell of the benchmark.")
    config = json.loads((folder / CONFIG).read_text("utf-8"))
    # A line that a stopped run left unfinished is no prediction.
    lines = [line for line in (folder / PREDICTIONS).read_text("utf-8").split("\n") if line.endswith("}")]
    # The record begins with the settings. Each further line is a prediction.
    objects = [shorten_config(config)]
    objects += [shorten_prediction(json.loads(line)) for line in lines]
    text = "".join(json.dumps(object, ensure_ascii=False, sort_keys=True) + "\n" for object in objects)
    records.mkdir(parents=True, exist_ok=True)
    file = records / f"{folder.resolve().name}{SUFFIX}"
    # The compressed file contains no time and no name. So the same cell always has the same digest.
    file.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))

    digests = _read_digests(records)
    digests[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    digest_list = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    (records / SUMS).write_text(digest_list, encoding="utf-8")
    return file


def shorten_config(config: Mapping[str, object]) -> dict[str, object]:
    """Leave out of the settings of a run the paths and addresses of the machine on which it ran.

    :param config: The content of `config.json`.
    :returns: Only settings that a record may have. A file is named without its folders.
    """
    settings = _pick(config, _SETTINGS)
    if isinstance(settings.get("llm"), Mapping):
        settings["llm"] = _pick(settings["llm"], _MODEL)
        if isinstance(settings["llm"].get("judge"), Mapping):
            settings["llm"]["judge"] = _pick(settings["llm"]["judge"], _MODEL)
    return {key: _strip(value) for key, value in settings.items()}


def _strip(value: object) -> object:
    """Return a setting with only the last part of each path, and with "address" in place of an address.

    For example, ``_strip("corpus=/data/corpus.jsonl")`` returns ``"corpus=corpus.jsonl"``.
    """
    if isinstance(value, Mapping):
        return {_strip(str(key)): _strip(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_strip(part) for part in value]
    if not isinstance(value, str):
        return value
    # A changed setting is written NAME=VALUE, and only its value is shortened.
    match = _NAME.match(value)
    name_and_sign = match[0] if match else ""
    text = value.removeprefix(name_and_sign)
    if _ADDRESS.search(text):
        return f"{name_and_sign}address"
    # A Windows path is cut at slashes of both directions, so that both kinds of paths are shortened.
    return name_and_sign + PureWindowsPath(text).name


def shorten_prediction(prediction: PredictionLine) -> dict[str, object]:
    """Leave out of a prediction everything that scores and costs are not computed from.

    Of an error, only its class stays. Its message may contain a path or the address of a server.

    :param prediction: A line of `predictions.jsonl`.
    :returns: The shortened prediction. Each call has the digest of its prompt instead of the prompt.
    """
    result = prediction.get("result") or {}
    question = Question.of_prediction(prediction).to_prediction()
    # Gold sentences are compared with the texts of passages, which a record does not have.
    question.pop("sentences", None)
    queries = [_pick_with_error(sent, _SENT) for sent in result.get("queries_sent_out") or ()]
    documents = [_pick(document, ("id", "source")) for document in result.get("documents") or ()]
    steps = [_pick(step, _STEP) for step in result.get("steps") or ()]
    trace = [_pick_with_error(event, _EVENT) for event in result.get("trace") or ()]
    costs = {"queries_sent_out": queries, "documents": documents, "steps": steps, "trace": trace}
    return {
        **question,
        "seconds": prediction.get("seconds"),
        "error": name_error(prediction.get("error")),
        "result": {**_pick(result, _RESULT), **costs},
        "calls": [_shorten_call(call) for call in prediction.get("calls") or ()],
    }


def _shorten_call(call: Mapping[str, Any]) -> dict[str, object]:
    """Return a call with the digest of its prompt, its time and its reply."""
    shortened = {"prompt_sha256": digest_prompt(call), "seconds": call.get("seconds")}
    if call.get("error"):
        shortened["error"] = name_error(call["error"])
    if call.get("reply"):
        shortened["reply"] = _pick(call["reply"], _REPLY)
    return shortened


def digest_prompt(call: Mapping[str, object]) -> str:
    """Compute the SHA-256 of everything that a call said to the model: its messages, parameters and tools.

    :param call: The call.
    :returns: The digest: 64 hexadecimal digits.
    """
    said = [call.get("messages"), call.get("parameters"), call.get("tools")]
    text = json.dumps(said, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def name_error(message: str | None) -> str | None:
    """Name the class of an error.

    For example, ``name_error("ConnectionError: refused")`` returns ``"ConnectionError"``, and ``name_error("no
    route")`` returns ``"error"``.

    :param message: The message of the error. None or an empty text means that there was no error.
    :returns: The class if the message begins with it, otherwise "error". None if there was no error.
    """
    if not message:
        return None
    kind = _KIND.match(message)
    return kind[0] if kind else "error"


def _pick_with_error(values: Mapping[str, Any], keys: Sequence[str]) -> dict[str, object]:
    """Return the values with these keys, and the class of the error if there is one."""
    picked = _pick(values, keys)
    if "error" in values:
        picked["error"] = name_error(values["error"])
    return picked


def _pick(values: Mapping[str, object], keys: Sequence[str]) -> dict[str, Any]:
    """Return the values with these keys, as far as they are there."""
    return {key: values[key] for key in keys if key in values}


def _read_digests(records: Path) -> dict[str, str]:
    """Read the list of digests, by the names of the records."""
    if not (records / SUMS).is_file():
        return {}
    digests = {}
    for line in (records / SUMS).read_text("utf-8").splitlines():
        digest, name = line.split()
        digests[name] = digest
    return digests


def read_cells(records: Path) -> list[Cell]:
    """Read all records of a folder.

    :param records: The folder.
    :returns: The cells in the order of the rows.
    :raises Missing: If there is no record.
    :raises BadInput: If a listed record is missing or has another digest than the listed one. Also if two records
        belong to the same row.
    """
    listed_digests = _read_digests(records)
    missing_names = sorted(name for name in listed_digests if not (records / name).is_file())
    if missing_names:
        raise BadInput(f"{records} lacks {missing_names[0]}, which {SUMS} lists: fetch it again, or delete its line.")

    cells = []
    for file in sorted(records.glob(f"*{SUFFIX}")):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        if listed_digests.get(file.name) != digest:
            raise BadInput(
                f"{file} is not the record that {SUMS} lists: fetch it again, or pack its cell anew (--add)."
            )
        cells.append(_read_cell(file, digest))
    if not cells:
        raise Missing(f"{records} has no records: pack a cell with --add FOLDER.")

    rows = [(cell.run.dataset, cell.row) for cell in cells]
    twice = {row for row in rows if rows.count(row) > 1}
    if twice:
        raise BadInput(f"Two records are of one row, {sorted(twice)[0]}: delete one, and its line in {SUMS}.")
    return sorted(cells, key=lambda cell: cell.order)


def _read_cell(file: Path, digest: str) -> Cell:
    """Unpack a record into a temporary folder, and read this folder as a run."""
    config, *predictions = gzip.decompress(file.read_bytes()).decode("utf-8").splitlines()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / CONFIG).write_text(config, encoding="utf-8")
        (Path(folder) / PREDICTIONS).write_text("".join(f"{line}\n" for line in predictions), encoding="utf-8")
        [run] = read_runs([Path(folder)])
    return Cell(replace(run, name=file.name), [json.loads(line) for line in predictions], digest)


def lay_out(cells: Sequence[Cell]) -> dict[str, str]:
    """Write the tables of all datasets.

    :param cells: The cells.
    :returns: Markdown tables by name. Each dataset has two: what each row reached, and how each row differs from
        `prefrag`.
    """
    tables = {}
    # Datasets with a title come first, in its order, and all others in the order of the cells.
    datasets = list(dict.fromkeys([*TITLES, *(cell.run.dataset for cell in cells)]))
    for dataset in datasets:
        cells_on_dataset = [cell for cell in cells if cell.run.dataset == dataset]
        if cells_on_dataset:
            title = TITLES.get(dataset, dataset)
            tables[f"real model, {dataset}"] = _lay_out_figures(title, cells_on_dataset)
            rows = _list_differences(cells_on_dataset)
            if rows:
                head = [f"{title}, over {REFERENCE}", "n", "Acc", "EM", "F1", "retrievals", "web", "calls"]
                tables[f"real model, {dataset}, paired"] = make_table(head, rows)
    return tables


def _lay_out_figures(title: str, cells: Sequence[Cell]) -> str:
    """Write the table of what each row reached."""
    intervals = score_intervals([cell.run for cell in cells])
    head = [title, "n", "given", "Acc", "EM", "F1", "local + web", "calls"]
    head += ["new tokens", "seconds", "left", "malformed", "record"]
    rows = {}
    for cell in cells:
        scores = []
        for measure in (ACC, EM, F1):
            score = intervals.get((cell.run.name, measure.key))
            scores.append(f"{score.mean:.1f} ({score.low:.0f} to {score.high:.0f})" if score else DASH)
        local = _mean_of(cell, "total_local")
        web = _mean_of(cell, "total_web")
        calls = _mean_of(cell, "llm_calls")
        n_given = sum(bool(record["result"].get("answered")) for record in cell.predictions)
        rows[cell.row] = [
            str(len(cell.predictions)),
            str(n_given),
            *scores,
            f"{local:.2f} + {web:.2f}",
            f"{calls:.2f}",
            *_show_costs(cell),
            cell.digest[:12],
        ]
    return make_table(head, rows)


def _mean_of(cell: Cell, key: str) -> float:
    """Return the mean of a measure over the questions of a cell."""
    return mean(prediction.values[key] for prediction in cell.run.predictions.values())


def _show_costs(cell: Cell) -> Iterator[str]:
    """Yield the cells of a row about costs.

    These are new tokens, seconds, the queries and words sent to the web, and the replies that could not be read.
    """
    new_tokens = mean(count_new_tokens(record) for record in cell.predictions)
    yield f"{new_tokens:.0f}"

    timed = [float(record["seconds"]) for record in cell.predictions if is_timed(record)]
    yield f"{mean(timed):.0f}" if timed else DASH

    sources = cell.run.config.get("sources") or ()
    queries_of_questions = [list_left(record, sources) for record in cell.predictions]
    n_with_query = sum(bool(queries) for queries in queries_of_questions)
    words = mean(len(" ".join(queries).split()) for queries in queries_of_questions)
    yield f"{n_with_query} of {len(queries_of_questions)} · {words:.1f}"

    n_calls = sum(len(record["calls"]) for record in cell.predictions)
    n_unparsable = sum(count_unparsable(record["result"]) for record in cell.predictions)
    yield f"{n_unparsable} of {n_calls}"


def count_new_tokens(prediction: PredictionLine) -> int:
    """Count the tokens that the model read and wrote for a question, without those from the server's cache.

    :param prediction: The prediction.
    :returns: The number of tokens.
    """
    usage = prediction["result"].get("usage") or {}
    n_read = int(usage.get("prompt_tokens") or 0)
    n_written = int(usage.get("completion_tokens") or 0)
    n_cached = int(usage.get("cached_tokens") or 0)
    return n_read + n_written - n_cached


def is_timed(prediction: PredictionLine) -> bool:
    """Check whether the seconds of a question are those of the model. They are not if a reply is from a recording.

    :param prediction: The prediction.
    :returns: True if no reply is from a recording.
    """
    return all((call.get("seconds") or 0) > _PLAYED_BACK for call in prediction["calls"])


def list_left(prediction: PredictionLine, sources: Sequence[str]) -> list[str]:
    """List the queries that were sent to any source but the preferred one.

    :param prediction: The prediction.
    :param sources: The names of the sources. The first is the preferred one.
    :returns: The queries.
    """
    _, *other_sources = sources or [""]
    queries = []
    for event in prediction["result"].get("trace") or ():
        if event.get("kind") == "found" and event["source"] in other_sources:
            queries.append(str(event.get("query")))
    return queries


def _list_differences(cells: Sequence[Cell]) -> dict[str, list[str]]:
    """Return a row for each cell that has questions in common with the reference, over these questions."""
    reference = next((cell for cell in cells if cell.row == REFERENCE), None)
    if reference is None:
        return {}
    paired = [cell for cell in cells if cell is not reference and paired_ids(cell.run, reference.run)]
    comparisons = compare([(cell.run, reference.run) for cell in paired])
    return {cell.row: _show_differences(comparison) for cell, comparison in zip(paired, comparisons, strict=True)}


def _show_differences(compared: Comparison) -> list[str]:
    """Return the cells of a row: the number of questions, and each difference with its interval."""
    texts = [str(compared.n)]
    for measure in COMPARED:
        score = compared.differences.get(measure.key)
        texts.append(f"{score.mean_text} ({score.interval_text})" if score else DASH)
    return texts


def publish(tables: Mapping[str, str], documents: Sequence[Path]) -> None:
    """Write each table into the document that has the comment with its name.

    :param tables: The tables by name.
    :param documents: The documents.
    :raises BadInput: If no document has a place for a table. Then nothing is written.
    """
    texts = {file: file.read_text("utf-8") for file in documents}
    places = {}
    for name in tables:
        places[name] = [file for file in documents if f"<!-- {name} -->\n" in texts[file]]
    without_place = [name for name, files in places.items() if not files]
    if without_place:
        raise BadInput(f"No document has a place for {without_place[0]}: add a line <!-- {without_place[0]} -->.")
    for file in documents:
        own_tables = {name: text for name, text in tables.items() if file in places[name]}
        if own_tables:
            write_into(file, own_tables)


def main(
    added: Annotated[
        list[Path] | None, typer.Option("--add", metavar="FOLDER", help="Pack this cell of the benchmark.")
    ] = None,
    records: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of the records.")] = RECORDS,
    into: Annotated[
        list[Path] | None, typer.Option(metavar="FILE.md", help="Write the tables into a document. Can be repeated.")
    ] = None,
) -> None:
    """Pack cells, and print the tables of all records."""
    try:
        for folder in added or ():
            file = pack(folder, records)
            typer.echo(f"{file}: {file.stat().st_size / 1000:.0f} kB")
        tables = lay_out(read_cells(records))
        if into:
            publish(tables, into)
    except (BadInput, Missing) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(error.exit_code) from error
    for name, text in tables.items():
        typer.echo(f"{name}\n\n{text}\n")


if __name__ == "__main__":
    typer.run(main)
