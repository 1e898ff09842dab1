"""Draw the plots as SVG, with the colours of the page around them."""

import html
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from prefrag.evaluation.report.comparison import Intervals
from prefrag.evaluation.report.grouping import Settings, vary
from prefrag.evaluation.report.measures import ACC, DOCUMENTS, RECALL, SECONDS, TOTAL, Measure
from prefrag.evaluation.report.runs import TOP_K, Run
from prefrag.evaluation.report.settings import Setting

# Placeholders in the SVG, which are replaced by the page's colours; these differ between light and dark.
_TEXT, _GRID = "#010101", "#010102"
_SERIES = tuple(f"#0200{number:02x}" for number in range(1, 7))
_COLOURS = {
    _TEXT: "currentColor",
    _GRID: "var(--grid)",
    **{sentinel: f"var(--series-{number})" for number, sentinel in enumerate(_SERIES, start=1)},
}
# The methods of a family share one colour and one mark; a label names the method.
_FAMILIES = ("prefrag", "vanilla", "react", "mspr", "dr_rag")
_STROKES = ("solid", "dashed", "dashdot", "dotted")
_MARKS = ("o", "s", "^", "D", "v", "P")
_WIDTH = 5.6
_SIZE = 9.5


@dataclass(frozen=True)
class Plot:
    """A plot of the report."""

    dataset: str
    note: str
    svg: str  # the picture, safe to embed in HTML


def draw_all(settings: Settings, intervals: Intervals, task: str = "") -> list[tuple[str, list[Plot]]]:
    """Draw every plot for which there are runs, for one setting of each dataset."""
    # A dollar sign in a name must not start a formula.
    with matplotlib.rc_context({"text.parse_math": False, "font.size": _SIZE - 1, "text.color": _TEXT}):
        sections = [
            ("Accuracy against retrievals", list(_scatter_of_methods(settings, intervals, task))),
            ("Recall against documents given", list(_recall(settings, intervals, task))),
            ("Seconds per question", list(_seconds(settings, intervals, task))),
            ("Accuracy against errors of the simulated judge", list(_judge_error(settings, intervals, task))),
        ]
    return [(title, plots) for title, plots in sections if plots]


def _methods(settings: Settings) -> Iterator[tuple[str, Setting, list[Run]]]:
    """Yield each dataset with the first setting that has several methods, and its runs."""
    seen: set[str] = set()
    for setting, held in settings.items():
        for dataset in sorted({run.dataset for run in held} - seen):
            shown = [run for run in held if run.dataset == dataset]
            if len({run.method for run in shown}) > 1:
                yield dataset, setting, shown
                seen.add(dataset)


def _vary_main(settings: Settings, dataset: str, setting: Setting, name: str) -> list[list[Run]]:
    """Return for each method its runs on a dataset that differ only in the setting ``name``, sorted by its value."""
    runs = [run for held in settings.values() for run in held if run.dataset == dataset]
    lines: dict[str, list[Run]] = {}
    for held in vary(runs, setting, name).values():
        for run in held:
            lines.setdefault(run.method, []).append(run)
    return list(lines.values())


def _scatter_of_methods(settings: Settings, intervals: Intervals, task: str) -> Iterator[Plot]:
    for dataset, setting, shown in _methods(settings):
        points = [run for run in shown if run.value(ACC) is not None and run.value(TOTAL) is not None]
        if len(points) > 1:
            name = f"{task}-{dataset}"
            svg = _scatter(points, TOTAL, ACC, intervals, "Retrievals per question", "Accuracy (%)", name)
            yield Plot(dataset, setting.text, svg)


def _recall(settings: Settings, intervals: Intervals, task: str) -> Iterator[Plot]:
    for dataset, setting, held in _methods(settings):
        lines = _vary_main(settings, dataset, setting, TOP_K)
        every = {run.name: run for run in (*held, *(run for line in lines for run in line))}
        shown = [run for run in every.values() if run.value(RECALL) is not None and run.value(DOCUMENTS)]
        if len(shown) > 1:
            axis, name = "Documents given to the model per question", f"{task}-{dataset}"
            svg = _scatter(shown, DOCUMENTS, RECALL, intervals, axis, "Recall (%)", name, lines)
            yield Plot(dataset, setting.text, svg)


def _seconds(settings: Settings, intervals: Intervals, task: str) -> Iterator[Plot]:
    for dataset, setting, shown in _methods(settings):
        note = setting.text
        known = sorted((run for run in shown if run.value(SECONDS)), key=lambda run: run.value(SECONDS) or 0.0)
        if len(known) < 2:
            continue
        figure, axes = _figure(0.9 + 0.27 * len(known))
        labels = _labels(known)
        for place, run in enumerate(known):
            value, interval = run.value(SECONDS) or 0.0, intervals.get((run.name, SECONDS.key))
            axes.barh(place, value, height=0.6, color=_colour(run), linewidth=0)
            if interval is not None:
                axes.plot([interval.low, interval.high], [place, place], color=_TEXT, linewidth=1)
            end = max(value, interval.high if interval else value)
            digits = f"{value:.3g}" if value < 100 else f"{value:.0f}"
            axes.annotate(digits, (end, place), xytext=(4, 0), textcoords="offset points", va="center")
        axes.set_yticks(range(len(known)), labels)
        axes.margins(x=0.14, y=0.02)
        axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("Seconds per question")
        if any(run.simulated for run in known):
            note += "; without the time that a language model would take"
        if len({run.concurrency for run in known}) > 1:
            note += "; with different numbers of concurrent questions"
        yield Plot(dataset, note, _svg(figure, f"seconds-{task}-{dataset}", _describe(known, SECONDS)))


def _judge_error(settings: Settings, intervals: Intervals, task: str) -> Iterator[Plot]:
    main = next(iter(settings))
    for dataset in sorted({run.dataset for held in settings.values() for run in held}):
        varied = _vary_main(settings, dataset, main, "judge error")
        lines = [[run for run in line if run.value(ACC) is not None] for line in varied]
        shown = [line for line in lines if len(line) > 1]
        if not shown:
            continue
        figure, axes = _figure(3.3)
        ends = []
        drawn: Counter[int] = Counter()
        for line in shown:
            # Methods of one family share a colour, so each gets a stroke of its own.
            stroke = _STROKES[drawn[_number(line[0])] % len(_STROKES)]
            drawn[_number(line[0])] += 1
            xs, ys = [100 * (run.judge_error or 0.0) for run in line], [run.value(ACC) or 0.0 for run in line]
            held = [intervals.get((run.name, ACC.key)) for run in line]
            if all(held):
                axes.fill_between(
                    xs,
                    [one.low for one in held if one],
                    [one.high for one in held if one],
                    color=_colour(line[0]),
                    alpha=0.14,
                    linewidth=0,
                )
            axes.plot(xs, ys, color=_colour(line[0]), marker=_mark(line[0]), markersize=5, linewidth=1.6, ls=stroke)
            ends.append((xs[-1], ys[-1], line[0].method, _colour(line[0])))
        axes.set_xlabel("Verdicts that the judge gets wrong (%)")
        axes.set_ylabel("Accuracy (%)")
        _label_ends(figure, axes, ends)
        note = f"{main.put('judge error', None).text}; bands are 95% intervals"
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
    figure, axes = _figure(4.2)
    for line in lines:
        values = [(run.value(across) or 0.0, run.value(up) or 0.0) for run in line]
        axes.plot(*zip(*values, strict=True), color=_colour(line[0]), linewidth=1, alpha=0.6, zorder=1)
    # Only the last point of a line gets its name.
    short = {run.name for line in lines for run in line[:-1]}
    points = []
    for run, label in zip(runs, _labels(runs), strict=True):
        x, y = run.value(across) or 0.0, run.value(up) or 0.0
        interval = intervals.get((run.name, up.key))
        if interval is not None:
            axes.plot([x, x], [interval.low, interval.high], color=_colour(run), linewidth=1, alpha=0.3, zorder=1)
        axes.plot([x], [y], color=_colour(run), marker=_mark(run), markersize=7, linestyle="none", zorder=3)
        points.append((x, y, f"k {run.top_k}" if run.name in short else label, _colour(run)))
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.margins(x=0.2, y=0.08)
    _label_points(figure, axes, points)
    return _svg(figure, f"{across.key}-{name}", _describe(runs, up, across))


def _labels(runs: Sequence[Run]) -> list[str]:
    """Return a label for each run: its method, and whatever distinguishes it from other runs of that method."""
    methods = [run.method for run in runs]
    usual = Counter(run.top_k for run in runs if run.top_k is not None).most_common(1)
    labels = []
    for run in runs:
        same = [other for other in runs if other.method == run.method]
        parts = []
        if len({other.top_k for other in same}) > 1 or run.top_k not in (None, *(k for k, _ in usual)):
            parts.append(f"k {run.top_k}")
        if len({other.retriever for other in same}) > 1:
            parts.append(run.retriever or "no retriever")
        label = " ".join([run.method, *parts])
        labels.append(label)
    return [
        label if labels.count(label) == 1 or methods.count(run.method) == 1 else f"{label} ({run.folder.name})"
        for label, run in zip(labels, runs, strict=True)
    ]


def _figure(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_GRID)
    axes.grid(color=_GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(color=_GRID, labelcolor=_TEXT, labelsize=_SIZE)
    axes.xaxis.label.set(color=_TEXT, size=_SIZE)
    axes.yaxis.label.set(color=_TEXT, size=_SIZE)
    return figure, axes


# Positions of a label, in points from its mark: beside it, above, below, then further out.
_DIRECTIONS = (
    *((1, 0), (-1, 0), (0, 1), (0, -1), (0.9, 0.5), (0.9, -0.5), (-0.9, 0.5), (-0.9, -0.5)),
    *((0.5, 0.9), (0.5, -0.9), (-0.5, 0.9), (-0.5, -0.9)),
)
_PLACES = [(distance * x, distance * y) for distance in (8, 13, 19, 26, 34, 43, 53, 64, 76) for x, y in _DIRECTIONS]
_NEAR = 10


def _label_points(figure: Figure, axes: Axes, points: Sequence[tuple[float, float, str, str]]) -> None:
    """Place each label so that it covers no mark and no other label and stays inside the plot."""
    figure.draw_without_rendering()
    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    renderer = canvas.get_renderer()
    # Freeze the layout, so that the labels do not change it.
    figure.set_layout_engine("none")
    inside = axes.get_window_extent(renderer)
    scale = figure.dpi / 72
    marks = [axes.transData.transform((x, y)) for x, y, _, _ in points]
    half = 5 * scale
    taken = [Bbox.from_extents(x - half, y - half, x + half, y + half) for x, y in marks]
    for (x, y, label, colour), (mark_x, mark_y) in sorted(
        zip(points, marks, strict=True), key=lambda item: -item[1][1]
    ):
        text = axes.annotate(label, (x, y), xytext=(0, 0), textcoords="offset points", fontsize=_SIZE - 1, color=colour)
        box = text.get_window_extent(renderer)
        best: tuple[float, float, float, Bbox] | None = None
        for right, above in _PLACES:
            left = mark_x + right * scale - (0 if right > 0 else box.width if right < 0 else box.width / 2)
            bottom = mark_y + above * scale - (0 if above > 0 else box.height if above < 0 else box.height / 2)
            place = Bbox.from_bounds(left, bottom, box.width, box.height)
            covered = sum(_overlap(place, other) for other in taken) + _outside(place, inside) * box.height
            if best is None or covered < best[0]:
                best = (covered, right, above, place)
            if not covered:
                break
        assert best is not None
        _, right, above, place = best
        text.set_position(((place.x0 - mark_x) / scale, (place.y0 - mark_y) / scale))
        text.set_verticalalignment("bottom")
        taken.append(place)
        if max(abs(right), abs(above)) > _NEAR:
            _leader(axes, (mark_x, mark_y), place, colour)


def _leader(axes: Axes, mark: tuple[float, float], place: Bbox, colour: str) -> None:
    end = (min(max(mark[0], place.x0), place.x1), min(max(mark[1], place.y0), place.y1))
    (x0, y0), (x1, y1) = axes.transData.inverted().transform([mark, end])
    axes.plot([x0, x1], [y0, y1], color=colour, linewidth=0.6, alpha=0.8, zorder=1, scalex=False, scaley=False)


def _overlap(one: Bbox, other: Bbox) -> float:
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return width * height if width > 0 and height > 0 else 0.0


def _outside(place: Bbox, inside: Bbox) -> float:
    return (
        max(0.0, inside.x0 - place.x0)
        + max(0.0, place.x1 - inside.x1)
        + max(0.0, inside.y0 - place.y0)
        + max(0.0, place.y1 - inside.y1)
    )


def _label_ends(figure: Figure, axes: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Write the names of lines at their ends, moved apart if they would overlap."""
    gap = _SIZE * 1.25
    longest = max(len(label) for _, _, label, _ in ends)
    left, right = axes.get_xlim()
    # Leave space for the names: a letter is about 0.6 times as wide as high, and the axes take most of the width.
    share = min(0.6, 0.6 * _SIZE * longest / (0.84 * _WIDTH * 72) + 0.03)
    axes.set_xlim(left, left + (right - left) / (1 - share))
    ticks = [tick for tick in axes.get_xticks() if left <= tick <= right]
    figure.draw_without_rendering()
    axes.set_xticks(ticks)
    scale = figure.dpi / 72
    heights = {place: axes.transData.transform((x, y))[1] / scale for place, (x, y, _, _) in enumerate(ends)}
    previous = float("-inf")
    for place in sorted(heights, key=lambda place: heights[place]):
        x, y, label, colour = ends[place]
        height = max(heights[place], previous + gap)
        previous = height
        axes.annotate(
            label,
            (x, y),
            xytext=(9, height - heights[place]),
            textcoords="offset points",
            va="center",
            fontsize=_SIZE - 0.5,
            color=colour,
            annotation_clip=False,
        )


def _colour(run: Run) -> str:
    return _SERIES[_number(run)]


def _mark(run: Run) -> str:
    return _MARKS[_number(run)]


def _number(run: Run) -> int:
    method = "vanilla" if run.method == "no_retrieval" else run.method
    return next((place for place, name in enumerate(_FAMILIES) if method.startswith(name)), len(_FAMILIES))


def _describe(runs: Sequence[Run], measure: Measure, across: Measure | None = None) -> str:
    """Describe the plot in words, for screen readers."""
    return "; ".join(
        f"{label}: {measure.title} {measure.text(run.value(measure))}"
        + (f" at {across.title} {across.text(run.value(across))}" if across else "")
        for label, run in zip(_labels(runs), runs, strict=True)
    )


def _svg(figure: Figure, name: str, words: str) -> str:
    """Return the figure as an SVG element for HTML, with unique ids and the colours of the page."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    # Remove the style element, which would apply to the whole page.
    svg = re.sub(r"<(metadata|style)\b.*?</\1>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    # Remove the comments, which repeat the text of the labels.
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    prefix = f"p{zlib.crc32(name.encode())}-"
    svg = re.sub(r'(\bid=")', rf"\1{prefix}", svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{prefix}", svg)
    for sentinel, colour in _COLOURS.items():
        svg = svg.replace(sentinel, colour)
    svg = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', "", svg, count=1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(words)}"', 1)
