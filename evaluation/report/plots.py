"""Draw the plots of the report as SVG.

Matplotlib draws each plot with placeholder colours. These are then replaced by the colours of the page, which has a
light and a dark form. :func:`draw_all` makes all plots.
"""

import html
import io
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prefrag.evaluation.report.comparison import Intervals
from prefrag.evaluation.report.grouping import Settings, vary
from prefrag.evaluation.report.measures import (
    ACC,
    DOCUMENTS,
    EM,
    F1,
    RECALL,
    SECONDS,
    TOTAL,
    TOTAL_LOCAL,
    TOTAL_WEB,
    Measure,
)
from prefrag.evaluation.report.runs import TOP_K, Run
from prefrag.evaluation.report.settings import Setting

# Placeholder colours in the SVG, which stand for colours of the page. This one is for text and axes.
_TEXT = "#010101"
# The placeholder colour of the grid.
_GRID = "#010102"
# The placeholder colours of the series of data.
_SERIES = tuple(f"#0200{number:02x}" for number in range(1, 7))
# The CSS colours that replace the placeholders.
_COLOURS = {
    _TEXT: "currentColor",
    _GRID: "var(--grid)",
    **{placeholder: f"var(--series-{number})" for number, placeholder in enumerate(_SERIES, start=1)},
}
# The methods whose names begin with the same of these words share one colour. All other methods share one more colour.
_FAMILIES = ("prefrag", "vanilla", "react", "mspr", "dr_rag")
# The methods that PrefRAG's figure 3 compares.
_REACT_MIX_AND_PREFRAG = {"react_mix", "prefrag"}
# The methods that PrefRAG's figure 5 compares.
_STRATEGIES = ("vanilla_mix", "prefrag_direct", "prefrag")
# The strokes of lines, for methods that share a colour.
_STROKES = ("solid", "dashed", "dashdot", "dotted")
# The marks of points, one per family.
_MARKS = ("o", "s", "^", "D", "v", "P")
# The width of a plot in inches.
_WIDTH = 5.6
# The size of the letters in points.
_SIZE = 9.5
# The approximate number of letters that fit in a line of the legend, without its marks and gaps.
_LETTERS = 66


@dataclass(frozen=True)
class Plot:
    """A plot of the report."""

    # The name of the dataset.
    dataset: str
    # The text below the plot, such as the setting of its runs.
    note: str
    # The picture, which is safe to embed in HTML.
    svg: str


def draw_all(settings: Settings, intervals: Intervals, task: str = "") -> list[tuple[str, list[Plot]]]:
    """Draw every plot for which there are runs, for one setting of each dataset.

    :param settings: The runs of one task, grouped by their settings.
    :param intervals: The confidence intervals of scores.
    :param task: The name of the task, which becomes part of the ids in the SVG.
    :returns: The titles that have plots, with their plots.
    """
    # A dollar sign in a name must not start a formula, so formulas are turned off.
    with matplotlib.rc_context({"text.parse_math": False, "font.size": _SIZE - 1, "text.color": _TEXT}):
        sections = [
            ("Accuracy against retrievals", list(_scatter_of_methods(settings, intervals, task))),
            ("Retrievals from each source, and accuracy (PrefRAG, figure 3)", list(_sources(settings, task))),
            ("Strategies of preference (PrefRAG, figure 5)", list(_strategies(settings, intervals, task))),
            ("Recall against documents given", list(_recall(settings, intervals, task))),
            ("Seconds per question", list(_seconds(settings, intervals, task))),
            ("Accuracy against errors of the simulated judge", list(_judge_error(settings, intervals, task))),
        ]
    return [(title, plots) for title, plots in sections if plots]


def _runs_to_draw(settings: Settings) -> Iterator[tuple[str, Setting, list[Run]]]:
    """For each dataset, yield the first setting that has several methods, and the runs of this setting."""
    drawn_datasets: set[str] = set()
    for setting, runs in settings.items():
        for dataset in sorted({run.dataset for run in runs} - drawn_datasets):
            runs_on_dataset = [run for run in runs if run.dataset == dataset]
            if len({run.method for run in runs_on_dataset}) > 1:
                yield dataset, setting, runs_on_dataset
                drawn_datasets.add(dataset)


def _vary_main(settings: Settings, dataset: str, setting: Setting, name: str) -> list[list[Run]]:
    """Return the runs on a dataset that differ from ``setting`` only in the value ``name``.

    There is a list for each method, sorted by this value.
    """
    runs = [run for group in settings.values() for run in group if run.dataset == dataset]
    line_of_method: dict[str, list[Run]] = {}
    for group in vary(runs, setting, name).values():
        for run in group:
            line_of_method.setdefault(run.method, []).append(run)
    return list(line_of_method.values())


def _scatter_of_methods(settings: Settings, intervals: Intervals, task: str) -> Iterator[Plot]:
    """Draw accuracy against the number of retrievals, with a point for each run."""
    for dataset, setting, shown in _runs_to_draw(settings):
        points = [run for run in shown if run.value(ACC) is not None and run.value(TOTAL) is not None]
        if len(points) > 1:
            name = f"{task}-{dataset}"
            svg = _scatter(
                points,
                across=TOTAL,
                up=ACC,
                intervals=intervals,
                x_label="Retrievals per question",
                y_label="Accuracy (%)",
                name=name,
            )
            yield Plot(dataset, setting.text, svg)


def _sources(settings: Settings, task: str) -> Iterator[Plot]:
    """Draw how often both sources were searched.

    The plot is made only if PrefRAG, which prefers a source, and ReAct-Mix, which prefers none, were run.
    """
    for dataset, setting, runs in _runs_to_draw(settings):
        shown = [run for run in runs if run.value(TOTAL_LOCAL) is not None and run.value(TOTAL_WEB) is not None]
        methods = {run.method for run in shown}
        if not _REACT_MIX_AND_PREFRAG.issubset(methods):
            continue

        figure, axes = _new_figure(1.1 + 0.27 * len(shown))
        for place, run in enumerate(shown):
            local = run.value(TOTAL_LOCAL) or 0.0
            web = run.value(TOTAL_WEB) or 0.0
            axes.barh(place, local, height=0.6, color=_colour(run), linewidth=0)
            axes.barh(place, web, left=local, height=0.6, color=_colour(run), alpha=0.4, linewidth=0)
            accuracy = f"{ACC.title} {ACC.text(run.value(ACC))}"
            axes.annotate(accuracy, (local + web, place), xytext=(4, 0), textcoords="offset points", va="center")

        axes.set_yticks(range(len(shown)), _labels(shown))
        axes.margins(x=0.2, y=0.02)
        axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("Retrievals per question: local, then (pale) web")
        words = ". ".join([_describe(shown, TOTAL_LOCAL), _describe(shown, TOTAL_WEB), _describe(shown, ACC)])
        yield Plot(dataset, setting.text, _svg(figure, f"sources-{task}-{dataset}", words))


def _strategies(settings: Settings, intervals: Intervals, task: str) -> Iterator[Plot]:
    """Draw the scores of three ways to prefer a source.

    The first searches both sources at once. In the second, only the words of the prompt prefer a source. The third is
    PrefRAG.
    """
    for dataset, setting, runs in _runs_to_draw(settings):
        shown = [run for name in _STRATEGIES for run in runs if run.method == name]
        if {run.method for run in shown} != set(_STRATEGIES):
            continue

        figure, axes = _new_figure(3.0)
        # At each measure, the bars of the three methods stand side by side, the second in the middle.
        for number, run in enumerate(shown):
            for place, measure in enumerate((ACC, F1, EM)):
                x = place + 0.27 * (number - 1)
                interval = intervals.get((run.name, measure.key))
                look: dict[str, Any] = {"color": _SERIES[number], "label": run.method if place == 0 else None}
                axes.bar(x, run.value(measure) or 0.0, width=0.24, linewidth=0, **look)
                if interval is not None:
                    axes.plot([x, x], [interval.low, interval.high], color=_TEXT, linewidth=1)

        axes.set_xticks(range(3), [ACC.title, F1.title, EM.title])
        axes.grid(visible=False, axis="x")
        axes.set_ylabel("%")
        _add_legend(figure)
        words = ". ".join(_describe(shown, measure) for measure in (ACC, F1, EM))
        yield Plot(dataset, setting.text, _svg(figure, f"strategies-{task}-{dataset}", words))


def _recall(settings: Settings, intervals: Intervals, task: str) -> Iterator[Plot]:
    """Draw recall against the number of documents that the model was given."""
    for dataset, setting, runs in _runs_to_draw(settings):
        lines = _vary_main(settings, dataset, setting, TOP_K)
        runs_by_name = {run.name: run for run in runs}
        for line in lines:
            runs_by_name.update((run.name, run) for run in line)

        shown = [run for run in runs_by_name.values() if run.value(RECALL) is not None and run.value(DOCUMENTS)]
        if len(shown) > 1:
            name = f"{task}-{dataset}"
            svg = _scatter(
                shown,
                across=DOCUMENTS,
                up=RECALL,
                intervals=intervals,
                x_label="Documents given to the model per question",
                y_label="Recall (%)",
                name=name,
                lines=lines,
            )
            yield Plot(dataset, setting.text, svg)


def _seconds(settings: Settings, intervals: Intervals, task: str) -> Iterator[Plot]:
    """Draw the seconds per question."""
    for dataset, setting, shown in _runs_to_draw(settings):
        timed = [run for run in shown if run.value(SECONDS)]
        timed.sort(key=lambda run: run.value(SECONDS) or 0.0)
        if len(timed) < 2:
            continue

        figure, axes = _new_figure(0.9 + 0.27 * len(timed))
        labels = _labels(timed)
        for place, run in enumerate(timed):
            value = run.value(SECONDS) or 0.0
            # Where the bar ends, or the interval on it.
            end = value
            axes.barh(place, value, height=0.6, color=_colour(run), linewidth=0)
            interval = intervals.get((run.name, SECONDS.key))
            if interval is not None:
                axes.plot([interval.low, interval.high], [place, place], color=_TEXT, linewidth=1)
                end = max(value, interval.high)
            digits = f"{value:.3g}" if value < 100 else f"{value:.0f}"
            axes.annotate(digits, (end, place), xytext=(4, 0), textcoords="offset points", va="center")

        axes.set_yticks(range(len(timed)), labels)
        axes.margins(x=0.14, y=0.02)
        axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("Seconds per question")
        note = setting.text
        if any(run.simulated for run in timed):
            note += "; without the time that a language model would take"
        if len({run.concurrency for run in timed}) > 1:
            note += "; with different numbers of concurrent questions"
        yield Plot(dataset, note, _svg(figure, f"seconds-{task}-{dataset}", _describe(timed, SECONDS)))


def _judge_error(settings: Settings, intervals: Intervals, task: str) -> Iterator[Plot]:
    """Draw accuracy against the share of verdicts that the simulated judge gets wrong, with a line for each method."""
    main_setting = next(iter(settings))
    for dataset in sorted({run.dataset for group in settings.values() for run in group}):
        shown = []
        for line in _vary_main(settings, dataset, main_setting, "judge error"):
            measured_runs = [run for run in line if run.value(ACC) is not None]
            if len(measured_runs) > 1:
                shown.append(measured_runs)
        if not shown:
            continue

        figure, axes = _new_figure(3.3)
        # How many methods of each family were drawn so far.
        drawn_of_family: Counter[int] = Counter()
        for line in shown:
            # All runs of a line have the same method.
            first_run = line[0]
            colour = _colour(first_run)
            family = _family_number(first_run)
            # Methods of one family share a colour. So each method gets a stroke of its own.
            stroke = _STROKES[drawn_of_family[family] % len(_STROKES)]
            drawn_of_family[family] += 1
            xs = [100 * (run.judge_error or 0.0) for run in line]
            ys = [run.value(ACC) or 0.0 for run in line]
            # A band is drawn only if each run has an interval.
            line_intervals = [intervals[run.name, ACC.key] for run in line if (run.name, ACC.key) in intervals]
            if len(line_intervals) == len(line):
                lows = [interval.low for interval in line_intervals]
                highs = [interval.high for interval in line_intervals]
                axes.fill_between(xs, lows, highs, color=colour, alpha=0.14, linewidth=0)
            style: dict[str, Any] = {"color": colour, "marker": _MARKS[family], "ls": stroke}
            axes.plot(xs, ys, **style, markersize=5, linewidth=1.6, label=first_run.method)

        axes.set_xlabel("Verdicts that the judge gets wrong (%)")
        axes.set_ylabel("Accuracy (%)")
        _add_legend(figure)
        note = f"{main_setting.put('judge error', None).text}; bands are 95% intervals"
        words = ". ".join(_describe(line, ACC) for line in shown)
        yield Plot(dataset, note, _svg(figure, f"error-{task}-{dataset}", words))


def _scatter(
    runs: Sequence[Run],
    across: Measure,
    up: Measure,
    intervals: Intervals,
    x_label: str,
    y_label: str,
    name: str,
    lines: Sequence[Sequence[Run]] = (),
) -> str:
    """Draw a point for each run, and join the points of each line.

    ``across`` is the measure of the horizontal axis, ``up`` that of the vertical axis. ``lines`` has the runs that
    differ only in top-k.
    """
    figure, axes = _new_figure(4.2)
    for line in lines:
        xs = [run.value(across) or 0.0 for run in line]
        ys = [run.value(up) or 0.0 for run in line]
        axes.plot(xs, ys, color=_colour(line[0]), linewidth=1, alpha=0.6, zorder=1)

    # The points on a line have the name and the mark of the line, which is the method of its runs. The number beside
    # each point is its top-k.
    line_of_run: dict[str, str] = {}
    for line in lines:
        if len(line) > 1:
            line_of_run.update((run.name, run.method) for run in line)

    marks: dict[str, str] = {}
    # How many different marks of each family were drawn so far.
    drawn_of_family: Counter[int] = Counter()
    for run, label in zip(runs, _labels(runs), strict=True):
        x = run.value(across) or 0.0
        y = run.value(up) or 0.0
        point_name = line_of_run.get(run.name, label)
        is_new = point_name not in marks
        if is_new:
            family = _family_number(run)
            marks[point_name] = _MARKS[(family + drawn_of_family[family]) % len(_MARKS)]
            drawn_of_family[family] += 1
        style: dict[str, Any] = {
            "color": _colour(run),
            "marker": marks[point_name],
            "ls": "none",
            "label": point_name if is_new else None,
        }
        axes.plot([x], [y], **style, markersize=7, zorder=3)
        interval = intervals.get((run.name, up.key))
        if interval is not None:
            axes.plot([x, x], [interval.low, interval.high], color=_colour(run), linewidth=1, alpha=0.3, zorder=1)
        if run.name in line_of_run:
            axes.annotate(f"k {run.top_k}", (x, y), xytext=(5, 4), textcoords="offset points", color=_colour(run))

    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.margins(x=0.06, y=0.08)
    _add_legend(figure)
    return _svg(figure, f"{across.key}-{name}", _describe(runs, up, across))


def _labels(runs: Sequence[Run]) -> list[str]:
    """Return a label for each run: its method, and what distinguishes it from other runs of the same method."""
    methods = [run.method for run in runs]
    k_counts = Counter(run.top_k for run in runs if run.top_k is not None)
    usual_k: int | None = None
    if k_counts:
        [(usual_k, _)] = k_counts.most_common(1)

    labels = []
    for run in runs:
        same_method = [other for other in runs if other.method == run.method]
        words = [run.method]
        has_several_ks = len({other.top_k for other in same_method}) > 1
        if has_several_ks or run.top_k not in (None, usual_k):
            words.append(f"k {run.top_k}")
        if len({other.retriever for other in same_method}) > 1:
            words.append(run.retriever or "no retriever")
        labels.append(" ".join(words))

    # Runs that still have the same label get the name of their folder.
    distinct_labels = []
    for label, run in zip(labels, runs, strict=True):
        if labels.count(label) > 1 and methods.count(run.method) > 1:
            distinct_labels.append(f"{label} ({run.folder.name})")
        else:
            distinct_labels.append(label)
    return distinct_labels


def _new_figure(height: float) -> tuple[Figure, Axes]:
    """Make an empty plot in the style of the page. ``height`` is in inches."""
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_GRID)
    axes.grid(color=_GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(color=_GRID, labelcolor=_TEXT, labelsize=_SIZE)
    axes.xaxis.label.set(color=_TEXT, size=_SIZE)
    axes.yaxis.label.set(color=_TEXT, size=_SIZE)
    return figure, axes


def _add_legend(figure: Figure) -> None:
    """Add a legend below the plot, in as many columns as its longest label allows."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    longest = max(map(len, labels), default=1)
    columns = max(1, min(3, _LETTERS // longest))
    # The plot grows by 0.19 inches for each line of the legend.
    figure.set_figheight(figure.get_figheight() + 0.19 * math.ceil(len(labels) / columns))
    figure.legend(handles, labels, loc="outside lower left", ncols=columns, frameon=False, fontsize=_SIZE - 1)


def _colour(run: Run) -> str:
    """Return the placeholder colour of a run's method."""
    return _SERIES[_family_number(run)]


def _family_number(run: Run) -> int:
    """Return the position of a method's family, or the number of families for any other method."""
    # A method without retrieval has the colour of the simplest methods with one.
    method = "vanilla" if run.method == "no_retrieval" else run.method
    for place, name in enumerate(_FAMILIES):
        if method.startswith(name):
            return place
    return len(_FAMILIES)


def _describe(runs: Sequence[Run], measure: Measure, across: Measure | None = None) -> str:
    """Describe the plot in words, for screen readers."""
    descriptions = []
    for label, run in zip(_labels(runs), runs, strict=True):
        words = f"{label}: {measure.title} {measure.text(run.value(measure))}"
        if across:
            words += f" at {across.title} {across.text(run.value(across))}"
        descriptions.append(words)
    return "; ".join(descriptions)


def _svg(figure: Figure, name: str, words: str) -> str:
    """Return the figure as an SVG element for HTML, with unique ids and the colours of the page.

    ``name`` makes the ids unique, and ``words`` describes the picture for screen readers.
    """
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    # The style element is removed, because it would apply to the whole page.
    svg = re.sub(r"<(metadata|style)\b.*?</\1>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    # The comments are removed, because they repeat the text of the labels.
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    # All ids, and all references to them, get a prefix: `id="m1"` becomes `id="p123-m1"`.
    prefix = f"p{zlib.crc32(name.encode())}-"
    svg = re.sub(r'(\bid=")', rf"\1{prefix}", svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{prefix}", svg)
    for placeholder, colour in _COLOURS.items():
        svg = svg.replace(placeholder, colour)
    # The size in points is removed, so that the page decides the size.
    svg = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', "", svg, count=1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(words)}"', 1)
