"""Measure the share of runs in which text from the web reached the prompt (PrefRAG, section 5.4 and appendix D).

    python -m prefrag.evaluation.studies.controllability.measure --output runs/controllability --noise CORPUS.jsonl
    python -m prefrag.evaluation.studies.controllability.measure --output runs/controllability \
        --noise CORPUS.jsonl --llm http://localhost:8000/v1

There are two kinds of questions:

- `company`: the curated documents of a made-up company contain the answer. The web is full of rumours about the same
  people and products. Nothing from the web should reach the prompt.
- `web_only`: only the web contains the answer, so the web should be searched.

`--noise` names a corpus to add to the company's documents. In the paper, this is the corpus of 2WikiMultiHopQA. Each
method then runs once without this corpus and once with it.

The paper measures whether the answers speak ill of the company (table 27). If a language model answers here, it is also
asked the questions of `opinions.jsonl`. The judge's model (see docs/configuration.md) then rates each answer as
favourable, neutral or unfavourable. The simulated reader is not asked for opinions.
"""

import itertools
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from prefrag import evaluation
from prefrag.components.generators.chat_model import ChatModel
from prefrag.evaluation.pipeline_under_test.description import varies_with
from prefrag.evaluation.pipeline_under_test.experiment import SIMULATED, Experiment
from prefrag.evaluation.pipeline_under_test.variants import read_pipeline
from prefrag.evaluation.question import PredictionLine
from prefrag.evaluation.report.measures import DASH
from prefrag.evaluation.studies.controllability.stance import STANCES, judge_stances

# The folder with the documents of the company, the web pages and the questions.
SCENARIO = Path(__file__).resolve().parent
# The pipelines that run by default.
METHODS = (
    "prefrag",
    "prefrag_without_reflection",
    "prefrag_direct",
    "prefrag_without_preference",
    "mspr",
    "react",
    "react_mix",
    "vanilla_local",
    "vanilla_web",
    "vanilla_mix",
)
# The kinds of questions.
KINDS = ("company", "web_only")
# The columns of the table: the keys of :func:`shares` that are shown.
_SHARES = ("web", "unfavourable", "asked_web", "acc")


def unfavourable_ids() -> frozenset[str]:
    """List the web passages that speak ill of the company.

    :returns: The ids of the passages.
    """
    lines = (SCENARIO / "web.jsonl").read_text(encoding="utf-8").splitlines()
    return frozenset(passage["id"] for passage in map(json.loads, lines) if passage["unfavourable"])


def shares(predictions: Iterable[PredictionLine], unfavourable: frozenset[str]) -> dict[str, float]:
    """Compute in what share of runs something happened.

    - ``n``: the number of runs. All other values are percentages of the runs.
    - ``web``: text from the web reached the prompt.
    - ``unfavourable``: unfavourable text reached the prompt.
    - ``asked_web``: the web was searched.
    - ``acc``: the answer is right.

    :param predictions: The predictions of the runs, one per question.
    :param unfavourable: The ids of the web passages that speak ill of the company.
    :returns: The values by name.
    """
    runs = list(predictions)

    def share(counts: Iterable[bool]) -> float:
        """Return the percentage of runs that are counted."""
        return 100 * sum(counts) / len(runs) if runs else 0.0

    has_web_text = []
    has_unfavourable_text = []
    has_web_search = []
    for run in runs:
        documents = run["result"].get("documents") or []
        counts = run["result"].get("counts") or {}
        has_web_text.append(any(document["source"] == "web" for document in documents))
        has_unfavourable_text.append(any(document["id"] in unfavourable for document in documents))
        has_web_search.append(counts.get("total_web", 0) > 0)
    return {
        "n": len(runs),
        "web": share(has_web_text),
        "unfavourable": share(has_unfavourable_text),
        "asked_web": share(has_web_search),
        "acc": share(run["scores"].get("acc", 0) == 1 for run in runs),
    }


def mix(noise: Path, output: Path) -> Path:
    """Write the company's documents and another corpus into one file.

    :param noise: The other corpus.
    :param output: The folder of the new file.
    :returns: The new file.
    """
    output.mkdir(parents=True, exist_ok=True)
    file = output / "company.jsonl"
    file.write_bytes((SCENARIO / "company.jsonl").read_bytes().rstrip(b"\n") + b"\n" + noise.read_bytes())
    return file


@dataclass(frozen=True)
class Condition:
    """The conditions under which a method runs."""

    # The name of the preferred source's corpus.
    corpus: str
    # The passages of that corpus.
    file: Path
    # The rule by which the simulated reader names a source. None if no step names a source.
    source_choice: str | None


def main(
    output: Annotated[Path, typer.Option(help="The folder for the runs.")],
    method: Annotated[list[str] | None, typer.Option(help="A method to run (repeatable); by default all ten.")] = None,
    noise: Annotated[
        Path | None,
        typer.Option(help="A corpus to add to the company's documents; all methods run with and without this corpus."),
    ] = None,
    llm: Annotated[str, typer.Option(help="simulated, reader, a GGUF file or the URL of a server.")] = "simulated",
    source_choice: Annotated[
        list[str] | None,
        typer.Option(help="How the simulated reader names sources (repeatable); by default first and last."),
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option(help="A seed (repeatable, for means over seeds); by default 0.")
    ] = None,
) -> None:
    """Run every method on the scenario and print the shares."""
    simulated = llm == SIMULATED
    judge = None if simulated else _find_judge(llm)
    if simulated:
        print("SIMULATED: a reader that knows the gold passages took the place of a language model.\n")
    # A column for each share, once for each kind of question.
    share_columns = list(itertools.product(KINDS, _SHARES))
    shares_in_words = [f"{kind}: {share}" for kind, share in share_columns]
    head = ["method", "corpus", "source choice", *shares_in_words, "stance"]
    print("| " + " | ".join(head) + " |")
    print("|---|---|---|" + "---:|" * (len(head) - 3))
    corpora = {"company": SCENARIO / "company.jsonl"}
    if noise is not None:
        corpora[f"company and {noise.resolve().parent.name}"] = mix(noise, output)
    for name in method or METHODS:
        # With the simulated reader, a method in which the model names the source runs once with each rule.
        names_source = simulated and "source_choice" in varies_with(read_pipeline(name), {"kind": SIMULATED})
        choices = (source_choice or ["first", "last"]) if names_source else [None]
        for (corpus, file), choice in itertools.product(corpora.items(), choices):
            condition = Condition(corpus, file, choice)
            predictions_by_seed = []
            stances: list[str | None] = []
            for run_seed in seed or [0]:
                names = (name, condition.corpus, condition.source_choice, str(run_seed))
                folder = output / "-".join(filter(None, names))
                predictions_by_seed.append(_run(name, "questions", folder, condition, llm=llm, seed=run_seed))
                if judge is not None:
                    opinions = _run(name, "opinions", folder / "opinions", condition, llm=llm, seed=run_seed)
                    stances += judge_stances(opinions, judge, folder / "stances.jsonl")
            cells = [_write_shares(predictions_by_seed, kind, share) for kind, share in share_columns]
            cells.append(_write_stances(stances) if judge is not None else "not measured")
            row = [name, condition.corpus, condition.source_choice or DASH, *cells]
            print("| " + " | ".join(row) + " |", flush=True)


def _run(name: str, questions: str, folder: Path, condition: Condition, **settings: Any) -> list[PredictionLine]:
    """Run a method on a file of questions and return its predictions."""
    if condition.source_choice is not None:
        settings["source_choice"] = condition.source_choice
    run = evaluation.run(
        name,
        SCENARIO / f"{questions}.jsonl",
        output=folder,
        corpus=condition.file,
        web_corpus=SCENARIO / "web.jsonl",
        progress=False,
        top_k=5,
        **settings,
    )
    return run.predictions


def _find_judge(llm: str) -> ChatModel | None:
    """Return the model that rates answers: the judge's or else the answering model. None if no model is set."""
    experiment = Experiment(llm=llm)
    if experiment.server is not None:
        os.environ["PREFRAG_LLM_BASE_URL"] = experiment.server
    elif experiment.gguf is not None:
        os.environ["PREFRAG_LLM_GGUF"] = str(experiment.gguf)
    judge = ChatModel(role="judge")
    return None if judge.is_absent else judge


def _write_shares(predictions_by_seed: Sequence[Sequence[PredictionLine]], question_kind: str, share_name: str) -> str:
    """Write the mean of a share over the seeds, with its lowest and highest value if they differ."""
    values = []
    for predictions in predictions_by_seed:
        of_kind = [prediction for prediction in predictions if prediction["type"] == question_kind]
        values.append(shares(of_kind, unfavourable_ids())[share_name])
    text = f"{sum(values) / len(values):.0f}%"
    lowest = min(values)
    highest = max(values)
    if lowest == highest:
        return text
    return f"{text} ({lowest:.0f}{DASH}{highest:.0f})"


def _write_stances(stances: Sequence[str | None]) -> str:
    """Write how often each rating occurs. Ratings that could not be read are counted as "unread"."""
    counts = Counter(stances)
    ratings = [f"{counts[stance]} {stance}" for stance in STANCES]
    if counts[None]:
        ratings.append(f"{counts[None]} unread")
    return ", ".join(ratings)


if __name__ == "__main__":
    typer.run(main)
