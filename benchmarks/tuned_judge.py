"""Measure a judge that was tuned without a GPU: the states, the pairs, and the verdicts of the model and of a server.

    python -m benchmarks.tuned_judge states FOLDER --model FILE.gguf     # states of known verdict, balanced
    python -m benchmarks.tuned_judge pairs FOLDER                        # pairs of training states
    prefrag train judge-dpo fit --data FOLDER --model FILE.gguf --lora --set upper_layers=4 --output TRAINED
    python -m benchmarks.tuned_judge serve FOLDER --url http://127.0.0.1:18081/v1 --label untuned
    python -m benchmarks.tuned_judge table FOLDER

The states are second and later searches of simulated runs over two sources, whose first search is kept without a
verdict, as in the pipelines. Training states come from train questions, held-out states from dev questions. A verdict
is True if the search found a supporting passage that was not shown before. Each file is only added to, so a command
that was stopped continues.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import httpx
import typer

from benchmarks.places import MULTIHOP
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.judge.model_judge import ModelJudge, read_judgement
from prefrag.components.judge.switch_features import FEATURES
from prefrag.components.judge.tree_judge import (
    COST_OF_LEAVING,
    SHIPPED_TREES,
    find_unknown,
    keep_probability,
    least_probability,
)
from prefrag.components.state.state import Action, Search, Step
from prefrag.components.state.state_builder import StateBuilder
from prefrag.components.trees import load_trees
from prefrag.evaluation.report.intervals import wilson
from prefrag.training.area_under_curve import area_under_curve
from prefrag.training.dataset import Dataset
from prefrag.training.judge_classifier.steps import JudgedStep, simulated_steps, two_sources
from prefrag.training.judge_dpo.collection import HELD_OUT, PAIRS

DATASETS = ("hotpotqa", "musique", "2wikimultihopqa")
SEED = 7
TOP_K = (1, 2)
RESAMPLES = 2_000
# The files of a folder, besides those of `judge-dpo data`.
TRAIN_STATES = "train_states.jsonl"
# What the pairs prefer and reject: the layout and the words with which the untuned model most often began its verdicts.
REPLIES = {
    True: '{\n  "analysis": "The new information provides a useful detail that helps to answer the original question.",'
    '\n  "status": "True"\n}',
    False: '{\n  "analysis": "The new information does not bring anything new and useful for answering the original '
    'question.",\n  "status": "False"\n}',
}

app = typer.Typer(add_completion=False)
Model = Annotated[str, typer.Option(help="The model, a GGUF file.")]


@app.command()
def states(
    folder: Path,
    model: Model,
    train: Annotated[int, typer.Option(help="Training states, half of them True.")] = 150,
    held_out: Annotated[int, typer.Option(help="Held-out states, half of them True.")] = 96,
    most_tokens: Annotated[int, typer.Option(help="Longer prompts are left out.")] = 460,
) -> None:
    """Simulate runs with one and with two passages a search, and write balanced states with the judge's prompt.

    A question gives one state at most. In each dataset as many states are True as False, so that the kind of question
    says nothing about the verdict. States whose passages were all shown before are left out: the product asks no judge
    about them.
    """
    from prefrag.training.judge_dpo.base_model import load_tokenizer
    from prefrag.training.judge_dpo.measure import tokenize_prompt

    tokenizer = load_tokenizer(model)
    folder.mkdir(parents=True, exist_ok=True)
    for part, count, file in (("train", train, TRAIN_STATES), ("dev", held_out, HELD_OUT)):
        simulated = folder / f"simulated_{part}.jsonl"
        if not simulated.is_file():
            every = [row for top_k in TOP_K for name in DATASETS for row in _simulate(name, part, top_k)]
            for row in every:
                row["tokens"] = len(tokenize_prompt(tokenizer, row))
            simulated.write_text("".join(json.dumps(row) + "\n" for row in every), encoding="utf-8")
        rows = _draw([row for row in _read(simulated) if row["tokens"] <= most_tokens and not row["repeated"]], count)
        (folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        counts = Counter(f"{row['dataset']} {row['status']}, {row['top_k']} a search" for row in rows)
        typer.echo(f"{file}: {len(rows)} states of up to {max(row['tokens'] for row in rows)} tokens, {dict(counts)}")


def _simulate(name: str, part: str, top_k: int) -> Iterable[dict[str, Any]]:
    """Yield the judged steps of the questions, as rows of `judge-dpo data`."""
    dataset = Dataset(MULTIHOP / name / f"{part}.jsonl", MULTIHOP / name / "corpus.jsonl")
    questions, passages = dataset.read()
    texts = {passage.id: passage for passage in passages}
    judge = ModelJudge(ChatModel("judge"))
    trees = load_trees(SHIPPED_TREES, FEATURES)
    with two_sources(passages, SEED) as sources:
        for step in simulated_steps(questions, sources, texts, judge_first_step=False, top_k=top_k):
            if not step.observed:
                continue
            shown = {passage.id for passage in step.observed}
            probability = 1.0 if find_unknown(trees, step.features) else keep_probability(trees, step.features)
            yield {
                **_ask(judge, step),
                "status": str(step.keep),
                "dataset": name,
                "question_id": step.question_id,
                "question": step.question,
                "step": step.step + 1,
                "top_k": top_k,
                "repeated": all(passage.id in shown for passage in step.passages),
                "trees": probability,
            }


def _ask(judge: ModelJudge, step: JudgedStep) -> dict[str, Any]:
    """Prepare the call of a judge with a model of its own: the messages, and the schema of the reply."""
    state = StateBuilder(["local", "web"], "local").run(step.question)["state"]
    state = state.with_step(Step(Action.SEARCH, documents=step.observed, observed=True))
    search = Search("local", step.query, step.passages)
    call = judge.prepare(state.with_step(Step(Action.SEARCH, query=step.query, searches=(search,))))
    return {
        "prompt": [{"role": message.role.value, "content": message.text or ""} for message in call.messages],
        "response_format": call.generation_kwargs["response_format"],
    }


def _draw(rows: Sequence[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Draw pairs of a True and a False row, the datasets in turn, no question twice."""
    shuffled = random.Random(SEED).sample(rows, len(rows))
    drawn: list[dict[str, Any]] = []
    used: set[str] = set()

    def take(name: str, status: str) -> dict[str, Any] | None:
        fitting = (row for row in shuffled if (row["dataset"], row["status"]) == (name, status))
        return next((row for row in fitting if row["question_id"] not in used), None)

    open_sets = list(DATASETS)
    while open_sets and len(drawn) < count:
        for name in list(open_sets):
            both: list[dict[str, Any]] = []
            for status in ("True", "False"):
                row = take(name, status)
                if row is not None:
                    used.add(row["question_id"])
                    both.append(row)
            if len(both) == 2 and len(drawn) < count:
                drawn += both
            elif len(both) < 2:
                open_sets.remove(name)
    return drawn


@app.command()
def pairs(folder: Path, count: Annotated[int | None, typer.Option(help="Use only the first states.")] = None) -> None:
    """Write a pair for each training state: the right verdict and the wrong one, in the model's own words."""
    lines = []
    for row in _read(folder / TRAIN_STATES)[:count]:
        status = row["status"] == "True"
        chosen, rejected = ([{"role": "assistant", "content": REPLIES[verdict]}] for verdict in (status, not status))
        lines.append({**row, "chosen": chosen, "rejected": rejected, "models": {"gold": "supporting passages"}})
    (folder / PAIRS).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    typer.echo(f"{len(lines)} pairs")


@app.command()
def likelihood(
    folder: Path,
    model: Model,
    adapter: Annotated[list[Path] | None, typer.Option(help="LoRAs of the model, as PEFT writes them.")] = None,
    upper_layers: Annotated[int, typer.Option(help="The layers that the LoRAs change.")] = 4,
    limit: Annotated[int | None, typer.Option(help="Judge only the first states.")] = None,
    train: Annotated[bool, typer.Option(help="Judge the training states, for the threshold of `table`.")] = False,
) -> None:
    """Compare the log probabilities of the two replies at the held-out states, untuned and with each LoRA."""
    import torch
    from peft import PeftModel

    from prefrag.training.judge_dpo.base_model import load_model, load_tokenizer
    from prefrag.training.judge_dpo.lower_layers import LowerLayers, shared_beginning
    from prefrag.training.judge_dpo.measure import log_probabilities, tokenize_prompt

    torch.set_num_threads(1)
    rows = _read(folder / (TRAIN_STATES if train else HELD_OUT))[:limit]
    tokenizer, loaded = load_tokenizer(model), load_model(model, "bfloat16").eval()
    beginning = shared_beginning(tokenize_prompt(tokenizer, row) for row in rows)
    LowerLayers(loaded, upper_layers, folder / "lower_layers_of_held_out", beginning)
    for place in (None, *(adapter or ())):
        judged = loaded if place is None else PeftModel.from_pretrained(loaded, place).eval()
        label = "untuned" if place is None else place.name
        file = folder / f"{'train' if train else 'likely'}_{label}.jsonl"
        done = {row["question_id"] for row in _read(file)}
        for row in rows:
            if row["question_id"] in done:
                continue
            started = time.monotonic()
            log_true, log_false = log_probabilities(judged, tokenizer, row, [REPLIES[True], REPLIES[False]])
            told = {name: row[name] for name in ("question_id", "dataset", "status", "trees")}
            told |= {"score": log_true - log_false, "seconds": round(time.monotonic() - started, 1)}
            with file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(told) + "\n")
        if place is not None:
            loaded = judged.unload()
        typer.echo(f"{label}: done")


@app.command()
def serve(
    folder: Path,
    url: Annotated[str, typer.Option(help="The server.")],
    label: Annotated[str, typer.Option(help="The name of what is measured.")],
    name: Annotated[str, typer.Option(help="The model's name on the server.")] = "judge",
    limit: Annotated[int | None, typer.Option(help="Judge only the first states.")] = None,
) -> None:
    """Let a server judge the held-out states at temperature 0, with the schema of the product's judge."""
    file = folder / f"served_{label}.jsonl"
    done = {row["question_id"] for row in _read(file)}
    with httpx.Client(base_url=url.rstrip("/") + "/", timeout=900.0) as client:
        for row in _read(folder / HELD_OUT)[:limit]:
            if row["question_id"] in done:
                continue
            started = time.monotonic()
            body = {
                "model": name,
                "messages": row["prompt"],
                "response_format": row["response_format"],
                "temperature": 0.0,
                "max_tokens": 160,
            }
            reply = client.post("chat/completions", json=body).raise_for_status().json()
            text = reply["choices"][0]["message"]["content"]
            verdict = read_judgement(text)
            told = {
                "question_id": row["question_id"],
                "dataset": row["dataset"],
                "status": row["status"],
                "verdict": None if verdict is None else str(verdict.status),
                "text": text,
                "seconds": round(time.monotonic() - started, 1),
                "usage": reply["usage"],
            }
            with file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(told) + "\n")


@app.command()
def table(folder: Path) -> None:
    """Print how often each judge was right, with Wilson's intervals: the trees, and all that was measured."""
    held_out = _read(folder / HELD_OUT)
    by_trees = {row["question_id"]: row["trees"] >= least_probability(COST_OF_LEAVING) for row in held_out}
    _report("trees", [(row["status"] == "True", by_trees[row["question_id"]]) for row in held_out])
    untuned = _read(folder / "likely_untuned.jsonl")
    _report_area([{**row, "score": row["trees"]} for row in held_out], untuned)
    for file in sorted(folder.glob("likely_*.jsonl")):
        rows = _read(file)
        _report(file.stem, [(row["status"] == "True", row["score"] > 0) for row in rows])
        trained = _read(folder / file.name.replace("likely_", "train_"))
        if trained:
            least = _threshold(trained)
            verdicts = [(row["status"] == "True", row["score"] > least) for row in rows]
            _report(f"    above {least:.2f}, as in training", verdicts)
        _report_area(rows, untuned)
        typer.echo(f"    {mean(row['seconds'] for row in rows):.1f} s a state")
    for file in sorted(folder.glob("served_*.jsonl")):
        rows = _read(file)
        verdicts = [(row["status"] == "True", row["verdict"] and row["verdict"] == "True") for row in rows]
        _report(file.stem, verdicts)
        _report("    the trees on these", [(row["status"] == "True", by_trees[row["question_id"]]) for row in rows])
        typer.echo(f"    {mean(row['seconds'] for row in rows):.1f} s a state")


def _threshold(rows: Sequence[dict[str, Any]]) -> float:
    """Return the threshold at which most states are right, halfway between scores: of several, the closest to 0."""
    scores: list[float] = sorted({row["score"] for row in rows})
    halfway: list[float] = [(score + after) / 2 for score, after in pairwise(scores)]

    def rate(least: float) -> tuple[int, float]:
        return sum((row["score"] > least) == (row["status"] == "True") for row in rows), -abs(least)

    return max(halfway, key=rate)


def _report_area(rows: Sequence[dict[str, Any]], untuned: Sequence[dict[str, Any]]) -> None:
    """Print the area under the curve and its gain over the untuned model, on the states that both have judged.

    The intervals are those of resampled states, not of other trainings.
    """
    before = {row["question_id"]: row["score"] for row in untuned}
    states = [
        (row["status"] == "True", row["score"], before[row["question_id"]])
        for row in rows
        if row["question_id"] in before
    ]
    if not states:
        return

    draw = random.Random(SEED)
    areas, gains = [], []
    for sample in [states, *(draw.choices(states, k=len(states)) for _ in range(RESAMPLES))]:
        statuses, scores, scores_before = zip(*sample, strict=True)
        area = area_under_curve(statuses, scores)
        area_before = area_under_curve(statuses, scores_before)
        areas.append(area)
        gains.append(area - area_before)
    for name, values in (("area under the curve", areas), ("gain over the untuned", gains)):
        ordered = sorted(values[1:])
        low, high = ordered[RESAMPLES // 40], ordered[-RESAMPLES // 40]
        typer.echo(f"    {name} {values[0]:.2f} [{low:.2f}, {high:.2f}]")


def _report(label: str, verdicts: Sequence[tuple[bool, bool | None]]) -> None:
    """Print the shares of right verdicts: of all states, of those to keep, and of those to leave."""
    shares = []
    for name, wanted in (("right", (True, False)), ("kept", (True,)), ("left", (False,))):
        right = [verdict is status for status, verdict in verdicts if status in wanted]
        bounds = wilson(100 * sum(right) / len(right), len(right))
        shares.append(f"{name} {sum(right)} of {len(right)}: {bounds.mean:.0f}% [{bounds.low:.0f}, {bounds.high:.0f}]")
    unreadable = sum(verdict is None for _, verdict in verdicts)
    typer.echo(f"{label:28} {'; '.join(shares)}; unreadable {unreadable}")


def _read(file: Path) -> list[dict[str, Any]]:
    """Read the lines of a file. A missing file has none."""
    if not file.is_file():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    app()
