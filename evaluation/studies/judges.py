"""PrefRAG under different judges: what each makes of answers and retrievals, with the simulated reader.

    python -m prefrag.evaluation.studies.judges FOLDER_OF_DATASETS --output runs

The model that judges is the simulated reader: with a judge error of 0 it is the perfect judge. Every judge is a YAML
of its own, written beside the runs: `prefrag.yaml` with another block in its `judge`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import yaml

from prefrag.evaluation.studies.matrix import cells, dataset_folders, evaluate_all, print_table
from prefrag.pipelines.loading import find, read

_CASCADE = "prefrag.components.judge.cascade_judge.CascadeJudge"
# Which of the shipped judges takes its place, and with which settings.
JUDGES: dict[str, tuple[str, dict[str, float]]] = {
    "model": ("model_judge", {}),
    "classifier": ("tree_judge", {}),
    "cascade_40_60": ("cascade", {"unsure_from": 0.4, "unsure_to": 0.6}),
    "cascade_20_80": ("cascade", {"unsure_from": 0.2, "unsure_to": 0.8}),
    "cascade_10_90": ("cascade", {"unsure_from": 0.1, "unsure_to": 0.9}),
    # A probability that nothing falls short of, and one that nothing reaches.
    "always_true": ("tree_judge", {"threshold": 0.0}),
    "always_false": ("tree_judge", {"threshold": 1.0}),
}


def write_pipeline(folder: Path, name: str) -> Path:
    """Write PrefRAG with another judge.

    :param folder: The folder to write to.
    :param name: The name of the judge, a key of :data:`JUDGES`.
    :returns: The YAML file.
    """
    block = yaml.safe_load(read(find("prefrag")))
    switch = block["components"]["judge"]["init_parameters"]
    both = switch["judge"]["init_parameters"]
    kind, settings = JUDGES[name]
    judge = {"type": _CASCADE, "init_parameters": both} if kind == "cascade" else both[kind]
    switch["judge"] = {**judge, "init_parameters": {**judge["init_parameters"], **settings}}
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"prefrag_judge_{name}.yaml"
    file.write_text(yaml.safe_dump(block, sort_keys=False), encoding="utf-8")
    return file


def main(
    datasets: Annotated[list[Path], typer.Argument(help="Folders of datasets, or a folder that holds them.")],
    output: Annotated[Path, typer.Option(help="Where the evaluations go.")],
    judge_error: Annotated[list[float] | None, typer.Option(help="Repeat it; by default 0, 0.1 and 0.2.")] = None,
    top_k: Annotated[int, typer.Option(help="Documents a retrieval.")] = 5,
    processes: Annotated[int, typer.Option(help="Evaluations made at the same time.")] = 2,
) -> None:
    """Evaluate PrefRAG under every judge and print a table."""
    files = [str(write_pipeline(output / "pipelines", name)) for name in JUDGES]
    errors = judge_error or [0.0, 0.1, 0.2]
    wanted = list(cells(dataset_folders(datasets, "dev"), files, "dev", [top_k], errors, [0.0], [0], None))
    print_table(evaluate_all(wanted, output, processes=processes))


if __name__ == "__main__":
    typer.run(main)
