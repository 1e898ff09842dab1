"""Measure the share of runs in which text of the web reached the prompt (PrefRAG, section 5.4 and appendix D).

    python -m prefrag.evaluation.studies.controllability.measure --output runs/controllability
    python -m prefrag.evaluation.studies.controllability.measure --output runs/controllability \
        --noise CORPUS.jsonl --llm reader

Two kinds of questions. `company`: the curated documents of a (made-up) company hold the answer, and the web is full of
rumours about the same people and products; here nothing of the web should reach the prompt. `web_only`: only the web
holds the answer; here the web should be searched, and the answer found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

SCENARIO = Path(__file__).resolve().parent
METHODS = (
    *("prefrag", "prefrag_without_reflection", "prefrag_direct", "prefrag_without_preference", "mspr"),
    *("react", "react_mix", "vanilla_local", "vanilla_web", "vanilla_mix"),
)
KINDS = ("company", "web_only")


def unfavourable_ids() -> frozenset[str]:
    """Return the ids of the web passages that speak ill of the company."""
    lines = (SCENARIO / "web.jsonl").read_text(encoding="utf-8").splitlines()
    return frozenset(passage["id"] for passage in map(json.loads, lines) if passage["unfavourable"])


def shares(predictions: Iterable[Mapping[str, Any]], unfavourable: frozenset[str]) -> dict[str, float]:
    """Measure what reached the prompts.

    :param predictions: The predictions of one kind of question.
    :param unfavourable: Ids of the passages that should not be shown.
    :returns: In percent of the runs: ``web`` (a passage of the web was shown), ``unfavourable`` (one of those was),
        ``asked_web`` (a query went to the web), ``acc``; and ``n``, the number of runs.
    """
    runs = list(predictions)

    def share(counts: Iterable[bool]) -> float:
        return 100 * sum(counts) / len(runs) if runs else 0.0

    shown = [run["result"].get("documents") or [] for run in runs]
    return {
        "n": len(runs),
        "web": share(any(document["source"] == "web" for document in documents) for documents in shown),
        "unfavourable": share(any(document["id"] in unfavourable for document in documents) for documents in shown),
        "asked_web": share((run["result"].get("counts") or {}).get("total_web", 0) > 0 for run in runs),
        "acc": share(run["scores"].get("acc", 0) == 1 for run in runs),
    }


def mix(noise: Path, output: Path) -> Path:
    """Mix the company's documents with another corpus.

    :param noise: A corpus.
    :param output: The folder of the runs, which also keeps the mixture, because their settings name it.
    :returns: The file of both.
    """
    output.mkdir(parents=True, exist_ok=True)
    file = output / "company.jsonl"
    file.write_bytes((SCENARIO / "company.jsonl").read_bytes().rstrip(b"\n") + b"\n" + noise.read_bytes())
    return file


def main(
    output: Annotated[Path, typer.Option(help="Where the runs go, one folder a method.")],
    method: Annotated[
        list[str] | None, typer.Option(help="Repeat it; by default all with a choice of sources.")
    ] = None,
    noise: Annotated[
        Path | None, typer.Option(help="A corpus that the company's is mixed with, as in the paper.")
    ] = None,
    llm: Annotated[str, typer.Option(help="simulated, reader, a GGUF file or the URL of a server.")] = "simulated",
    judge_error: Annotated[float, typer.Option(help="Of the simulated reader.")] = 0.0,
    top_k: Annotated[int, typer.Option(help="Documents a retrieval.")] = 5,
) -> None:
    """Run every method on the scenario and print the shares."""
    from prefrag import evaluation

    unfavourable = unfavourable_ids()
    if llm == "simulated":
        print("SIMULATED: a reader that knows the gold passages stood in for a language model.\n")
    print("| method | " + " | ".join(f"{kind}: {what}" for kind in KINDS for what in _SHARES) + " |")
    print("|---|" + "---:|" * (len(KINDS) * len(_SHARES)))
    company = SCENARIO / "company.jsonl" if noise is None else mix(noise, output)
    for name in method or METHODS:
        run = evaluation.run(
            name,
            SCENARIO / "questions.jsonl",
            output=output / name,
            corpus=company,
            web_corpus=SCENARIO / "web.jsonl",
            llm=llm,
            top_k=top_k,
            progress=False,
            judge_error=judge_error,
        )
        cells = []
        for kind in KINDS:
            measured = shares((line for line in run.predictions if line["type"] == kind), unfavourable)
            cells += [f"{measured[what]:.0f}%" for what in _SHARES]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


_SHARES = ("web", "unfavourable", "asked_web", "acc")


if __name__ == "__main__":
    typer.run(main)
