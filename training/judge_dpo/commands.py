"""`prefrag train judge-dpo`: collect pairs for the judge's model, and train it on them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

# Everything heavy is imported where it is used, so that help comes at once.
GOLD_KEY = "PREFRAG_GOLD_API_KEY"


def data(
    dataset: Annotated[
        list[str],
        typer.Option(metavar="QUESTIONS.jsonl:CORPUS.jsonl", help="Questions and their corpus; may be given again."),
    ],
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="For pairs.jsonl and its report; resumed if begun.")],
    labels: Annotated[
        str, typer.Option(metavar="model|gold", help="Gold verdicts of a stronger model, or of the gold passages.")
    ] = "model",
    gold_llm: Annotated[
        str | None, typer.Option(metavar="URL", help=f"The stronger model's server; its key is in {GOLD_KEY}.")
    ] = None,
    gold_model: Annotated[str | None, typer.Option(help="The stronger model's name on its server.")] = None,
    pipeline: Annotated[
        str, typer.Option(metavar="NAME|FILE.yaml", help="A pipeline with a model as judge.")
    ] = "prefrag",
    llm: Annotated[
        str | None,
        typer.Option(
            metavar="embedded|simulated|URL",
            help="The model of the runs; by default the one of PREFRAG_LLM_BASE_URL. With `simulated` the runs need no "
            "model, and the one to train is that of the judge's variables.",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model's name on its server; by default PREFRAG_LLM_MODEL.")
    ] = None,
    prompts: Annotated[
        str, typer.Option(metavar="product|paper", help="The prompts that users get, or those of the papers.")
    ] = "product",
    top_k: Annotated[
        str | None,
        typer.Option(metavar="N-M", help="Documents per retrieval, drawn for each question; the authors draw 2-5."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most questions, drawn from all of a dataset.")] = 15_000,
    most_true: Annotated[int, typer.Option(min=1, help="The most pairs whose gold verdict is True.")] = 3_000,
    most_false: Annotated[int, typer.Option(min=1, help="The most pairs whose gold verdict is False.")] = 1_000,
    canonical: Annotated[
        bool, typer.Option("--canonical", help="Write a reply that is missing from a template, and mark it.")
    ] = False,
    held_out: Annotated[
        float, typer.Option(min=0, max=0.9, help="The share of the questions that is held out to measure on.")
    ] = 0.05,
    held_out_steps: Annotated[int, typer.Option(min=0, help="The most held-out steps.")] = 400,
    concurrency: Annotated[int, typer.Option(min=1, help="Questions, and calls to the judge, at a time.")] = 4,
    deadline: Annotated[float, typer.Option(min=1, help="Seconds that the run of a question may take.")] = 600.0,
    seed: Annotated[int, typer.Option(help="The seed of all draws.")] = 7,
) -> None:
    """Collect pairs of replies from runs over training questions; a second call continues the first."""
    from prefrag.training.dataset import Dataset
    from prefrag.training.judge_dpo.collection import PAIRS, Plan, collect
    from prefrag.training.judge_dpo.report import print_report

    plan = Plan(
        pipeline=pipeline,
        labels=labels,
        llm=llm,
        model=model,
        prompts=prompts,
        top_k=None if top_k is None else _read_range(top_k),
        limit=limit,
        most_true=most_true,
        most_false=most_false,
        canonical=canonical,
        held_out=held_out,
        held_out_steps=held_out_steps,
        seed=seed,
    )
    report = collect(
        [Dataset.parse(each) for each in dataset],
        output,
        plan,
        gold=_make_gold_model(gold_llm, gold_model) if labels == "model" else None,
        concurrency=concurrency,
        deadline=deadline,
        on_progress=lambda line: typer.echo(line, err=True),
    )
    typer.echo(print_report(report))
    typer.echo(f"The pairs: {output / PAIRS}")
    if report["questions_failed"]:
        typer.echo(f"{report['questions_failed']} questions failed: the same command runs them again.", err=True)


def _make_gold_model(url: str | None, model: str | None) -> Any:
    if url is None or model is None:
        raise ValueError(
            "The labels `model` need a stronger model: give --gold-llm and --gold-model, or --labels gold for those of "
            "the gold passages."
        )
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.utils import Secret

    # A local server takes any key.
    key = Secret.from_token(os.environ.get(GOLD_KEY, "").strip() or "none")
    return OpenAIChatGenerator(api_key=key, model=model, api_base_url=url, timeout=120.0, max_retries=4)


def _read_range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal():
        raise ValueError(f"--top-k is '{text}': give the fewest and the most documents, such as 2-5.")
    return int(first), int(last or first)
