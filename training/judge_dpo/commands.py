"""The commands of `prefrag train judge-dpo`, which collect pairs of replies and train the judge's model on them."""

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from prefrag.training.commands import Datasets, Model, read_datasets, say
from prefrag.worker_options import RayCluster, Workers

# Heavy modules are imported inside the functions that use them, so that --help answers at once.
Experiment = Annotated[Path | None, typer.Option(metavar="FILE.yaml", help="A file of settings, see docs/training.md.")]
Changes = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="One setting (repeatable).")]


def data(
    dataset: Datasets,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of a new or an interrupted collection.")],
    labels: Annotated[
        str | None,
        typer.Option(metavar="model|gold", help="Take gold verdicts from a stronger model (default) or gold passages."),
    ] = None,
    gold_llm: Annotated[
        str | None, typer.Option(metavar="URL", help="The stronger model's server; its key is in PREFRAG_GOLD_API_KEY.")
    ] = None,
    gold_model: Annotated[str | None, typer.Option(help="The stronger model's name on its server.")] = None,
    llm: Annotated[
        str | None,
        typer.Option(
            metavar="embedded|simulated|URL",
            help="The model that runs the pipeline, by default that of PREFRAG_LLM_BASE_URL. With `simulated`, only "
            "the judge calls a model. This is the model to train: name it with the variables PREFRAG_JUDGE_*.",
        ),
    ] = None,
    model: Model = None,
    top_k: Annotated[
        str | None,
        typer.Option(metavar="N-M", help="Documents per retrieval: for each question, drawn from N-M (authors: 2-5)."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of questions, drawn from each dataset; by default 15000.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Parallel questions, and parallel calls of the judge.")] = 4,
    workers: Workers = None,
    ray: RayCluster = None,
    experiment: Experiment = None,
    changes: Changes = None,
) -> None:
    """Collect pairs of replies by running training questions. To resume, repeat the command."""
    from prefrag.evaluation.settings_file import make_settings, read_fields
    from prefrag.training.judge_dpo.collection import PAIRS, Plan, collect
    from prefrag.training.judge_dpo.report import print_report

    # The settings of the authors' published code come with the program.
    if experiment == Path("published"):
        experiment = Path(__file__).with_name("published.yaml")
    values = read_fields(Plan, experiment, changes or ())
    options = {"labels": labels, "llm": llm, "model": model, "top_k": top_k, "limit": limit}
    values |= {name: value for name, value in options.items() if value is not None}
    # On the command line, a range is a text such as "2-5". The file may have such a text, a number, or two numbers.
    if isinstance(values.get("top_k"), str | int):
        values["top_k"] = _read_range(str(values["top_k"]))
    plan = make_settings(Plan, values)
    report = collect(
        read_datasets(dataset),
        output,
        plan,
        gold=partial(make_gold_model, gold_llm, gold_model) if plan.labels == "model" else None,
        concurrency=concurrency,
        workers=workers,
        ray=ray,
        on_progress=say,
    )
    typer.echo(print_report(report))
    typer.echo(f"The pairs: {output / PAIRS}")
    if report["questions_failed"]:
        typer.echo(f"{report['questions_failed']} questions failed: repeat the command to run them again.", err=True)


def make_gold_model(url: str | None, model: str | None) -> Any:
    """Make the stronger model's chat generator, from the options of the command.

    :param url: The address of the model's server.
    :param model: The name of the model on its server.
    :returns: The chat generator.
    :raises ValueError: If the address or the name is missing.
    """
    if url is None or model is None:
        raise ValueError(
            "With --labels model, the gold verdicts need a stronger model: give --gold-llm and --gold-model, or use "
            "the gold passages with --labels gold."
        )
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.utils import Secret

    from prefrag.settings import settings

    # The client insists on a key. A local server accepts any key.
    key = Secret.from_token(settings.gold_api_key or "none")
    return OpenAIChatGenerator(api_key=key, model=model, api_base_url=url, timeout=120.0, max_retries=4)


def _read_range(text: str) -> tuple[int, int]:
    """Read a range of numbers: "2-5" gives ``(2, 5)``, and "3" gives ``(3, 3)``."""
    first, _, last = text.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal():
        raise ValueError(f"--top-k is '{text}': give the minimum and the maximum of documents, such as 2-5.")
    return int(first), int(last or first)


def fit(
    pairs: Annotated[Path, typer.Option("--data", metavar="FOLDER", help="The output of `judge-dpo data`.")],
    model: Annotated[
        str, typer.Option(metavar="FOLDER|NAME|FILE.gguf", help="The model that the replies were sampled from.")
    ],
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of a new or an interrupted training.")],
    lora: Annotated[bool, typer.Option("--lora", help="Train a LoRA instead of all weights.")] = False,
    experiment: Experiment = None,
    changes: Changes = None,
) -> None:
    """Train the judge's model on pairs. To resume from the last checkpoint, repeat the command."""
    _require_packages()
    from prefrag.evaluation.settings_file import make_settings, read_fields
    from prefrag.training.judge_dpo.fit import ADAPTER, MODEL, FitSettings
    from prefrag.training.judge_dpo.fit import fit as train

    values = read_fields(FitSettings, experiment, changes or ())
    settings = make_settings(FitSettings, {**values, "model": model, "lora": lora or values.get("lora", False)})
    facts = train(pairs, output, settings, on_progress=say)
    for name in ("before", "after"):
        if facts[name] is not None:
            typer.echo(f"{name}: {_in_words(facts[name])}")
    trained = output / (ADAPTER if settings.lora else MODEL)
    typer.echo(f"Trained in {facts['steps']} steps: {trained}. The card is {output / 'card.md'}.")


def measure(
    pairs: Annotated[Path, typer.Option("--data", metavar="FOLDER", help="The output of `judge-dpo data`.")],
    model: Annotated[str, typer.Option(metavar="FOLDER|NAME|FILE.gguf", help="The model.")],
    adapter: Annotated[Path | None, typer.Option(metavar="FOLDER", help="A LoRA for the model.")] = None,
    reply_tokens: Annotated[int, typer.Option(min=0, help="Maximum tokens of a verdict; 0 writes no verdicts.")] = 512,
) -> None:
    """Measure a model on the held-out steps. On one GPU, `judge-dpo fit` measures by itself; on several it does not."""
    _require_packages()
    import torch

    from prefrag.training.judge_dpo.base_model import load_model, load_tokenizer
    from prefrag.training.judge_dpo.collection import HELD_OUT
    from prefrag.training.judge_dpo.fit import read_rows
    from prefrag.training.judge_dpo.measure import measure as measure_model

    loaded = load_model(model)
    if adapter is not None:
        from peft import PeftModel

        loaded = PeftModel.from_pretrained(loaded, adapter)
    if torch.accelerator.is_available():
        loaded.to(torch.accelerator.current_accelerator())
    measured = measure_model(loaded, load_tokenizer(model), read_rows(pairs / HELD_OUT), reply_tokens)
    typer.echo(_in_words(measured))


def _require_packages() -> None:
    """Raise ImportError if a package that training needs is missing."""
    missing = [name for name in ("torch", "transformers", "trl", "peft", "datasets") if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"Training needs {', '.join(missing)}: install the extra `train` (pip install 'prefrag[train]')."
        )


def _in_words(measured: Mapping[str, float | None]) -> str:
    """Write the measures of a model as one line."""
    words_of_names = {
        "accuracy": "right verdicts",
        "unreadable": "unreadable",
        "says_true": "says True",
        "likelihood_accuracy": "right by likelihood",
    }
    shares = []
    for name, words in words_of_names.items():
        if measured.get(name) is not None:
            shares.append(f"{words} {measured[name]:.1%}")
    return f"{measured['steps']} held-out steps: {', '.join(shares)}"
