"""Compare pipelines that search in a loop, at equal cost and with the simulated reader, for `evaluation/RESULTS.md`.

    python -m prefrag.evaluation.studies.equal_cost FOLDER_OF_DATASETS --output runs --into evaluation/DETAILS.md

Each loop runs with one to six steps. Its accuracy is plotted against three costs: retrievals, model calls, and searches
of the source that is not preferred. The study makes a picture per dataset, and tables of how two loops differ at equal
cost and at equal accuracy.

- One in ten decisions of the simulated reader is wrong (`ERRING`). `--set` changes this for all loops.
- Finished evaluations are not repeated.
- With `--questions dev --questions train`, loops without a trained component run on both question files. Then the
  intervals are narrower.
- `--try "NAME PATH=VALUE ..."` changes settings of the pipeline NAME. This pipeline is then compared only with the
  loops that it has to beat (`RIVALS`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

import matplotlib
import numpy as np
import typer
from matplotlib.figure import Figure

from prefrag.evaluation.pipeline_under_test.experiment import Experiment
from prefrag.evaluation.report.comparison import FEW_DIFFERING
from prefrag.evaluation.report.intervals import CONFIDENCE, SEED, Interval, tango
from prefrag.evaluation.report.measures import ACC, CALLS, DASH, TOTAL, TOTAL_WEB
from prefrag.evaluation.report.runs import read_runs
from prefrag.evaluation.report.significance import compute_p, correct
from prefrag.evaluation.settings_file import read_fields
from prefrag.evaluation.studies.matrix import Cell, combine_cells, evaluate_all, find_dataset_folders
from prefrag.evaluation.studies.tables import LAYOUT, make_table, write_into

# The numbers of steps with which each loop runs.
STEPS = tuple(range(1, 7))
# The policy of the simulated reader in all loops. Its four kinds of errors have a probability of 0.1 each.
ERRING: dict[str, object] = {
    "top_k": 5,
    "seed": 0,
    "source_choice": "oracle",
    "judge_error": 0.1,
    "reflection_error": 0.1,
    "stopping_error": 0.1,
    "source_error": 0.1,
}
# The measures of cost, with their names in the tables and pictures.
COSTS = {
    TOTAL.key: "retrievals made",
    CALLS.key: "model calls",
    TOTAL_WEB.key: "searches of the source that is not preferred",
}
# The number of resamples of the questions.
_RESAMPLES = 2_000
# The number of budgets (costs or accuracies) at which two curves are compared.
_BUDGETS = 41
# The number of decimals to which means are rounded.
_DECIMALS = 9


@dataclass(frozen=True)
class Line:
    """A line in the plots: a loop, and the policy of the simulated reader in this loop."""

    # The name of the line.
    name: str
    # The name of the pipeline or of a variant.
    pipeline: str
    # Settings of the policy that override `ERRING`.
    changes: Mapping[str, object] = field(default_factory=dict)
    # The name of the line that this line is compared with.
    reference: str = "prefrag"
    # The numbers of steps to run. Empty if the pipeline does not loop.
    steps: Sequence[int] = STEPS
    # Whether a component of the loop was trained on the train questions.
    is_trained: bool = False
    # Changed settings of the pipeline, as for `--set`.
    changed: Sequence[str] = ()


# All lines of the study.
LINES = (
    Line("prefrag", "prefrag"),
    Line("prefrag_without_preference", "prefrag_without_preference"),
    Line("prefrag_without_reflection", "prefrag_without_reflection"),
    Line("react", "react"),
    Line("react_mix", "react_mix"),
    Line("mspr", "mspr"),
    Line("crag", "crag", steps=()),
    Line("prefrag_classifier", "prefrag_classifier", is_trained=True),
    Line("prefrag_linked", "prefrag_linked", is_trained=True),
    Line("react_mix_linked", "react_mix_linked", reference="prefrag_linked", is_trained=True),
    # In these two lines, the flip of a coin replaces a decision: the verdict of the judge, or the choice of the source.
    Line("prefrag, coin", "prefrag", {"judge_error": 0.5}),
    Line("prefrag_without_preference, coin", "prefrag_without_preference", {"source_choice": "drawn"}),
)
# The loops that `--try` compares a changed loop with.
RIVALS = ("prefrag", "prefrag_without_preference", "react_mix")


@dataclass(frozen=True)
class Curve:
    """The accuracy and the costs of a loop."""

    # The ids of the questions.
    ids: tuple[str, ...]
    # By measure, an array with a row per number of steps and a column per question.
    values: Mapping[str, np.ndarray]

    def select(self, ids: Sequence[str]) -> Curve:
        """Get the curve for some of the questions.

        :param ids: The ids of these questions.
        :returns: The curve.
        """
        column_of_id = {id: number for number, id in enumerate(self.ids)}
        columns = [column_of_id[id] for id in ids]
        return Curve(tuple(ids), {key: values[:, columns] for key, values in self.values.items()})

    @cached_property
    def means(self) -> dict[str, np.ndarray]:
        """The mean of each measure, with a column per number of steps.

        The first row is over all questions. Each other row is over a resample of the questions.
        """
        n = len(self.ids)
        draws = np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), size=_RESAMPLES)
        weights = np.vstack([np.ones(n), draws])
        # Without rounding, a number of steps might seem more accurate than a smaller number with the same accuracy.
        return {key: np.round(weights @ values.T / n, _DECIMALS) for key, values in self.values.items()}


@dataclass(frozen=True)
class Difference:
    """How far one curve is ahead of another."""

    # The mean difference over all budgets that both loops can afford.
    mean: float
    # The lower bound of the 95% interval.
    low: float
    # The upper bound of the 95% interval.
    high: float
    # Whether the same curve is ahead at every budget.
    is_everywhere: bool
    # The two-sided p-value. In a table, it is corrected for the number of datasets.
    p: float
    # The lowest and the highest budget.
    budgets: tuple[float, float]
    # Whether the values are shares of the other curve's cost. Otherwise they are differences of accuracy in points.
    is_share: bool

    @property
    def text(self) -> str:
        """The difference in digits. It has a star if it is significant and has the same sign at every budget.

        If one loop always costs less than the other, the two have no budget in common. The cheaper loop then spends at
        most the lowest cost of the other. Such a difference has no star, because the cost may explain it.
        """
        digits = ".2f" if self.is_share else "+z.1f"
        mean = format(self.mean, digits)
        low = format(self.low, digits)
        high = format(self.high, digits)
        text = f"{mean} ({low} to {high})"

        lowest, highest = self.budgets
        has_one_budget = lowest == highest
        may_be_by_cost = has_one_budget and not self.is_share
        is_certain = self.is_everywhere and self.p <= 1 - CONFIDENCE / 100
        if is_certain and not may_be_by_cost:
            text += "*"
        if may_be_by_cost:
            text += f" at most {lowest:.2f}"
        elif has_one_budget:
            text += f" at {lowest:.2f}"
        return text


def list_best(costs: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """List the numbers of steps that gain more than every cheaper number, cheapest first.

    For example, ``list_best(np.array([1, 2, 3]), np.array([50, 40, 60])).tolist()`` returns ``[0, 2]``: the second
    number costs more than the first and gains less.

    :param costs: The cost of each number of steps.
    :param gains: The accuracy of each number of steps.
    :returns: The indices of these numbers.
    """
    order = np.lexsort((-gains, costs))
    ordered = gains[order]
    # The cheapest number is always among the best. Every other number has to gain more than all before it.
    gains_more = np.append(True, ordered[1:] > np.maximum.accumulate(ordered)[:-1])
    best: np.ndarray = order[gains_more]
    return best


def _list_best_of_draws(curve: Curve, cost: str) -> list[np.ndarray]:
    """Return the best numbers of steps over all questions, and then over each resample."""
    rows = zip(curve.means[cost], curve.means[ACC.key], strict=True)
    return [list_best(costs, gains) for costs, gains in rows]


def _trace(curve: Curve, best: Sequence[np.ndarray], scale: str, size: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the points of a curve with the best numbers of steps: over all questions, and then over each resample.

    ``scale`` is the measure of the horizontal axis, ``size`` that of the vertical axis.
    """
    points = []
    for draw, steps in enumerate(best):
        points.append((curve.means[scale][draw][steps], curve.means[size][draw][steps]))
    return points


def _interpolate(draws: Sequence[tuple[np.ndarray, np.ndarray]], budgets: np.ndarray) -> np.ndarray:
    """Return a curve's values at the budgets: a row over all questions, and then a row over each resample."""
    return np.array([np.interp(budgets, scales, sizes) for scales, sizes in draws])


def _score_questions(curve: Curve, steps: np.ndarray, cost: str, budgets: np.ndarray) -> np.ndarray:
    """Return the accuracy of each question, averaged over the budgets.

    At each budget, the numbers of steps are used that are best over all questions.
    """
    costs = curve.means[cost][0][steps]
    scores = [np.interp(budgets, costs, accuracies[steps]) for accuracies in curve.values[ACC.key].T]
    mean: np.ndarray = np.mean(scores, axis=1)
    return mean


def compare(curve: Curve, other: Curve, cost: str, *, at_equal_accuracy: bool = False) -> Difference | None:
    """Compare two curves: their accuracy at equal mean cost, or their cost at equal accuracy.

    At each budget, a loop uses the best number of steps that it can afford. The budget may lie between the costs of two
    numbers of steps. Accuracy is then interpolated, as if some questions ran with one number and some with the other.

    The interval is a paired bootstrap over the questions. If accuracy differs on few questions, the interval is
    Tango's. For Tango's interval, a difference of 50 points counts as half a question.

    :param curve: The curve of a loop.
    :param other: The curve of another loop.
    :param cost: The measure of cost.
    :param at_equal_accuracy: Whether to compare the costs at equal accuracy. They are then shares of the cost of
        ``other``.
    :returns: The difference. At equal accuracy, it is None if the loops reach no common accuracy.
    """
    ids = sorted({*curve.ids} & {*other.ids})
    curves = [curve.select(ids), other.select(ids)]
    best = [_list_best_of_draws(compared, cost) for compared in curves]
    # The measure of the budgets, and the measure that is compared.
    scale = cost
    size = ACC.key
    if at_equal_accuracy:
        scale = ACC.key
        size = cost

    points = [_trace(compared, best_steps, scale, size) for compared, best_steps in zip(curves, best, strict=True)]
    start, end = _find_common_range(points)
    if at_equal_accuracy and end < start:
        return None
    # If one loop always costs less than the other, the only budget is the lowest cost of the other.
    end = max(start, end)

    budgets = np.linspace(start, end, _BUDGETS)
    own_values, other_values = (_interpolate(draws, budgets) for draws in points)
    if at_equal_accuracy:
        differences_at_budgets = own_values[0] / other_values[0]
        means = own_values.mean(axis=1) / other_values.mean(axis=1)
    else:
        differences_at_budgets = own_values[0] - other_values[0]
        means = (own_values - other_values).mean(axis=1)
    # The value at which neither curve is ahead: a share of 1, or a difference of 0.
    even = 1.0 if at_equal_accuracy else 0.0

    tail = (100 - CONFIDENCE) / 2
    low, high = np.percentile(means[1:], [tail, 100 - tail])
    # The p-value counts the resamples with the rarer sign. Those without a difference count for both signs.
    n_opposite = min((means[1:] <= even).sum(), (means[1:] >= even).sum())
    p = min(1.0, 2 * (n_opposite + 1) / (_RESAMPLES + 1))

    if not at_equal_accuracy:
        own_steps, other_steps = best
        own_scores = _score_questions(curves[0], own_steps[0], cost, budgets)
        other_scores = _score_questions(curves[1], other_steps[0], cost, budgets)
        differences = np.round(own_scores - other_scores, _DECIMALS)
        if np.count_nonzero(differences) < FEW_DIFFERING:
            tango_interval = _find_tango_interval(differences)
            low, high = tango_interval.low, tango_interval.high
            p = compute_p(differences[:, None])[0]

    signs = {float(np.sign(difference - even)) for difference in (low, high, *differences_at_budgets)}
    is_everywhere = len(signs) == 1 and 0 not in signs
    return Difference(
        mean=float(means[0]),
        low=float(low),
        high=float(high),
        is_everywhere=is_everywhere,
        p=p,
        budgets=(start, end),
        is_share=at_equal_accuracy,
    )


def _find_common_range(draws_of_curves: Sequence[Sequence[tuple[np.ndarray, np.ndarray]]]) -> tuple[float, float]:
    """Return the lowest and the highest budget that all curves have over all questions.

    If they have none in common, the lowest is above the highest.
    """
    lowest = []
    highest = []
    for draws in draws_of_curves:
        # The first draw is over all questions.
        budgets, _ = draws[0]
        lowest.append(float(budgets[0]))
        highest.append(float(budgets[-1]))
    return max(lowest), min(highest)


def _find_tango_interval(differences: np.ndarray) -> Interval:
    """Return Tango's interval of the mean difference. A difference of 100 points counts as a whole question."""
    better = abs(differences[differences > 0].sum()) / 100
    worse = abs(differences[differences < 0].sum()) / 100
    return tango(better, worse, len(differences))


def list_lines(tried: Sequence[str] = ()) -> list[Line]:
    """List the lines of the study.

    :param tried: The changed loops of `--try`, each as "NAME PATH=VALUE ...".
    :returns: All lines. For `--try`, only the changed loops, each followed by its rivals.
    """
    rivals = [line for line in LINES if line.name in RIVALS]
    lines = []
    for pipeline, *changed in map(str.split, tried):
        name = " ".join([Path(pipeline).stem, *changed])
        lines += [Line(name, pipeline, reference=name, changed=changed)]
        lines += [replace(rival, reference=name) for rival in rivals]
    return lines or list(LINES)


def list_cells(
    line: Line, dataset: Path, policy: Mapping[str, object], questions: Sequence[str] = ("dev",)
) -> list[list[Cell]]:
    """List the evaluations of a line.

    :param line: The line.
    :param dataset: The folder of the dataset.
    :param policy: Settings of the policy that override `ERRING`.
    :param questions: The names of the question files. Trained loops run only on dev.
    :returns: For each number of steps, the evaluations of all question files.
    """
    files = [name for name in questions if name == "dev" or not line.is_trained]
    settings = {name: [value] for name, value in {**ERRING, **policy, **line.changes}.items()}
    rows = []
    # A pipeline that does not loop runs once, as it is. This is the number 0.
    for number in line.steps or (0,):
        changes = list(line.changed)
        if number:
            changes.append(f"start.max_steps={number}")
        row: list[Cell] = []
        for name in files:
            row += combine_cells([dataset], [line.pipeline], name, {**settings, "changes": [changes]})
        rows.append(row)
    return rows


def read_curve(cells: Sequence[Sequence[Cell]], output: Path) -> Curve:
    """Read the curve of a line from its finished evaluations.

    :param cells: The evaluations, as :func:`list_cells` returns them.
    :param output: The folder of all evaluations.
    :returns: The curve.
    """
    rows: list[dict[str, Mapping[str, float]]] = []
    for row in cells:
        values: dict[str, Mapping[str, float]] = {}
        for cell in row:
            [run] = read_runs([output / cell.folder])
            for id, prediction in run.predictions.items():
                values[f"{cell.questions} {id}"] = prediction.values
        rows.append(values)

    ids = tuple(sorted(rows[0]))
    by_measure = {}
    for key in (ACC.key, *COSTS):
        numbers = []
        for values in rows:
            numbers.append([values[id][key] for id in ids])
        by_measure[key] = np.array(numbers)
    return Curve(ids, by_measure)


def draw(dataset: str, curves: Mapping[str, Curve], file: Path) -> None:
    """Draw accuracy against each cost into an SVG file.

    :param dataset: The name of the dataset.
    :param curves: The curves by the names of their lines.
    :param file: The file.
    """
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": dataset, "font.size": 9}):
        figure = Figure(figsize=(11, 4.6), layout="constrained")
        for axes, (cost, title) in zip(figure.subplots(1, len(COSTS), sharey=True), COSTS.items(), strict=True):
            for number, (name, curve) in enumerate(curves.items()):
                xs = curve.values[cost].mean(axis=1)
                ys = curve.values[ACC.key].mean(axis=1)
                # The marks and colours repeat after some lines. From then on, the lines have another stroke.
                mark = "os^Dv"[number % 5]
                stroke = ("-", "--", ":")[number // 7 % 3]
                axes.plot(xs, ys, f"{mark}{stroke}", color=f"C{number % 7}", ms=4, lw=1.2, label=name)
            axes.set_xlabel(f"{title} per question")
            axes.grid(alpha=0.3)
        figure.axes[0].set_ylabel("accuracy (%)")
        figure.suptitle(f"{dataset}, 1 to {STEPS[-1]} steps (simulated reader)")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        figure.savefig(file, metadata={"Date": None, "Creator": None})


def lay_out(lines: Sequence[Line], curves: Mapping[tuple[str, str], Curve]) -> dict[str, str]:
    """Write the tables of the study.

    :param lines: The lines.
    :param curves: The curves by the names of their dataset and line.
    :returns: Markdown tables by name: for each cost, a table at equal cost and a table at equal accuracy.
    """
    titles = {dataset: title for title, dataset in LAYOUT["datasets"].items()}
    place_of_dataset = {dataset: place for place, dataset in enumerate(titles)}
    # Datasets that the layout lacks come last.
    datasets = sorted(
        {dataset for dataset, _ in curves}, key=lambda dataset: place_of_dataset.get(dataset, len(titles))
    )
    tables = {}
    for (cost, title), at_equal_accuracy in itertools.product(COSTS.items(), (False, True)):
        rows = {}
        for line in lines:
            if line.name != line.reference:
                # Datasets without a difference keep the dash.
                texts = dict.fromkeys(datasets, DASH)
                differences: dict[str, Difference] = {}
                for dataset in datasets:
                    reference = curves[dataset, line.reference]
                    other = curves[dataset, line.name]
                    difference = compare(reference, other, cost, at_equal_accuracy=at_equal_accuracy)
                    if difference is not None:
                        differences[dataset] = difference
                ps = correct([difference.p for difference in differences.values()])
                for (dataset, difference), p in zip(differences.items(), ps, strict=True):
                    texts[dataset] = replace(difference, p=p).text

                row = f"`{line.name}`".replace(", coin`", "`, a coin")
                if line.reference != "prefrag":
                    row = f"`{line.reference}` against {row}"
                rows[row] = list(texts.values())
        measure = f"{title}, share at equal accuracy" if at_equal_accuracy else f"points at equal {title}"
        tables[measure] = make_table(["", *(titles.get(dataset, dataset) for dataset in datasets)], rows)
    return tables


def main(
    datasets: Annotated[list[Path], typer.Argument(help="Folders of datasets, or a folder that holds them.")],
    output: Annotated[Path, typer.Option(help="The folder for the evaluations.")],
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the policy for all loops.")
    ] = None,
    questions: Annotated[list[str] | None, typer.Option(help="dev or train; trained loops use only dev.")] = None,
    tried: Annotated[
        list[str] | None, typer.Option("--try", metavar="NAME", help="Compare only this changed loop with its rivals.")
    ] = None,
    pictures: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw a picture per dataset here.")] = None,
    into: Annotated[
        list[Path] | None, typer.Option(metavar="FILE.md", help="Write the tables into a document. Can be repeated.")
    ] = None,
    processes: Annotated[int, typer.Option(help="Evaluations to run at the same time.")] = 2,
) -> None:
    """Draw the curves and print the tables."""
    policy = read_fields(Experiment, None, changes or ())
    lines = list_lines(tried or ())
    folders = find_dataset_folders(datasets, "dev")
    cells = {}
    for folder in folders:
        for line in lines:
            cells[folder.name, line.name] = list_cells(line, folder, policy, questions or ["dev"])
    # Two lines may have an evaluation in common.
    all_cells: dict[Cell, None] = {}
    for rows in cells.values():
        for row in rows:
            all_cells.update(dict.fromkeys(row))
    evaluate_all(list(all_cells), output, processes=processes)
    curves = {key: read_curve(rows, output) for key, rows in cells.items()}
    if pictures is not None:
        for folder in folders:
            shown = {line.name: curves[folder.name, line.name] for line in lines}
            draw(folder.name, shown, pictures / f"equal_cost_{folder.name}.svg")
    tables = lay_out(lines, curves)
    for document in into or ():
        write_into(document, tables)
    print("SIMULATED: means over all budgets (95% intervals); * if one loop is significantly ahead at every budget.\n")
    for name, text in tables.items():
        print(f"{name}\n\n{text}\n")


if __name__ == "__main__":
    typer.run(main)
