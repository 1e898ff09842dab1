"""Write the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from prefrag.evaluation.report.comparison import (
    COMPARED,
    CONFIDENCE,
    RESAMPLES,
    Comparison,
    compare,
    mcnemar,
    score_intervals,
    turn_around,
)
from prefrag.evaluation.report.drill_down import differing_ids, drill_down
from prefrag.evaluation.report.grouping import group_by_setting
from prefrag.evaluation.report.measures import ACC, DASH, SECONDS
from prefrag.evaluation.report.paper_tables import REFERENCE, paper_tables
from prefrag.evaluation.report.runs import CONFIG, Run, read_runs
from prefrag.evaluation.report.settings import Setting

_FOLDER = Path(__file__).parent
HTML, MARKDOWN = "report.html", "report.md"
# Ids that are named when two runs did not answer the same questions.
_IDS_NAMED = 10
_BRIEF = {
    "better": "is higher than that of",
    "worse": "is lower than that of",
    "no difference shown": "is not shown to differ from that of",
    "too few questions": "cannot be compared, over so few questions, with that of",
}


@dataclass(frozen=True)
class Against:
    """All methods under one setting on one dataset, against one of them.

    :param dataset: The dataset.
    :param setting: The setting.
    :param reference: The method that the others are compared with.
    :param comparisons: The reference against each other method.
    :param main: Whether it is the dataset's first, which is shown at once.
    """

    dataset: str
    setting: Setting
    reference: Run
    comparisons: tuple[Comparison, ...]
    main: bool

    @property
    def brief(self) -> str:
        """The result for accuracy, as the end of a sentence that begins with the reference."""
        parts = []
        by_construction = [one.other.method for one in self.comparisons if _answers_nothing(one.other)]
        for verdict, words in _BRIEF.items():
            named = [
                f"{comparison.other.method} ({ACC.text(difference.interval.mean, sign=True)})"
                for comparison in self.comparisons
                if (difference := comparison.differences.get(ACC.key)) and difference.verdict == verdict
                if not _answers_nothing(comparison.other)
            ]
            if named:
                parts.append(f"{words} {', '.join(named)}")
        if by_construction:
            parts.append(f"is not set against {', '.join(by_construction)}: there the simulated reader is never right")
        return "; ".join(parts or ["was not measured"]) + "."


def write_report(run_folders: Sequence[Path], output: Path) -> Path:
    """Write ``report.html`` and ``report.md``.

    :param run_folders: Run folders, or folders that hold run folders at any depth.
    :param output: The folder to write into; it is made where it is missing.
    :returns: The HTML page.
    :raises FileNotFoundError: When a folder is not there.
    :raises ValueError: When there is no run, a run cannot be read, or matplotlib is not installed.
    """
    try:
        from prefrag.evaluation.report.plots import draw_all
    except ImportError as error:
        raise ValueError(f"The report draws with matplotlib ({error}): make install EXTRAS=evaluation.") from error
    runs = read_runs(run_folders)
    settings = group_by_setting(runs)
    intervals = score_intervals(runs)
    comparisons = compare(settings)
    against = _compare_with_reference(settings, comparisons)
    first = [comparison for one in against for comparison in one.comparisons]
    known = {frozenset((one.run.name, one.other.name)) for one in first}
    others = [one for one in comparisons if frozenset((one.run.name, one.other.name)) not in known]
    drilled = drill_down(runs, [*first, *others])
    values: dict[str, Any] = {
        "runs": runs,
        "simulated": [run for run in runs if run.simulated],
        "shared": next(iter(settings)).known,
        "tables": paper_tables(settings, intervals),
        "against": against,
        "one_thing": [one for one in others if "method" not in one.differing],
        "others": [one for one in others if "method" in one.differing],
        "compared": COMPARED,
        "confidence": CONFIDENCE,
        "resamples": RESAMPLES,
        "tested": sum(len(one.differences) for one in comparisons),
        "sections": draw_all(settings, intervals),
        "drill_down": drilled,
    }
    output = Path(output).expanduser()
    output.mkdir(parents=True, exist_ok=True)
    (output / MARKDOWN).write_text(
        _make_environment(html=False).get_template("report.md.jinja").render(values), "utf-8"
    )
    page = output / HTML
    page.write_text(_make_environment(html=True).get_template("report.html.jinja").render(values), "utf-8")
    return page


def _compare_with_reference(
    settings: Mapping[Setting, Sequence[Run]], comparisons: Sequence[Comparison]
) -> list[Against]:
    """Set each method against the reference, for every setting and dataset with two methods.

    A method without a judge is in the tables of one setting, and here under every error of the others' judge.
    """
    by_pair = {(one.run.name, one.other.name): one for one in comparisons}
    by_pair |= {(one.other.name, one.run.name): turn_around(one) for one in comparisons}
    found: list[Against] = []
    for setting, runs in settings.items():
        for dataset in sorted({run.dataset for run in runs}):
            held = [run for run in runs if run.dataset == dataset]
            reference = _choose_reference(held)
            if setting.judge_error is not None:
                held += [
                    run
                    for other, elsewhere in settings.items()
                    for run in elsewhere
                    if other != setting and run.dataset == dataset and run.judge_error is None and setting.holds(run)
                ]
            pairs = [by_pair.get((reference.name, run.name)) for run in held]
            kept = tuple(pair for pair in pairs if pair is not None and "method" in pair.differing)
            if kept:
                main = dataset not in {one.dataset for one in found}
                found.append(Against(dataset, setting, reference, kept, main))
    return found


def _answers_nothing(run: Run) -> bool:
    """Check whether its accuracy is 0 by construction: the simulated reader knows nothing that it is not shown."""
    return run.simulated and run.family == "no_retrieval"


def _choose_reference(runs: Sequence[Run]) -> Run:
    """Return PrefRAG if there is a run of it, otherwise the last run of the tables."""
    named = [run for run in runs if run.method == REFERENCE]
    family = [run for run in runs if run.family == REFERENCE]
    return next(iter([*named, *family, runs[-1]]))


def _make_environment(html: bool) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # `tojson` escapes its text for a script element.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    environment.filters["markdown"] = _markdown
    environment.filters["some"] = _name_some
    environment.globals["file"] = lambda name: Markup((_FOLDER / name).read_text(encoding="utf-8"))
    environment.globals["safe_svg"] = Markup
    environment.globals["config_text"] = lambda run: json.dumps(run.config, indent=2, ensure_ascii=False, default=str)
    environment.globals["config_name"] = CONFIG
    environment.globals["only"] = _count_only
    environment.globals["facts"] = facts
    return environment


def facts(run: Run) -> dict[str, str]:
    """Describe what was run.

    :param run: A run.
    :returns: Short texts by heading.
    """
    config = run.config
    web = config.get("web")
    return {
        "Run": run.name,
        "Method": run.method,
        "Dataset": run.dataset,
        "Questions": str(len(run.predictions)) + (f" (limit {config['limit']})" if config.get("limit") else ""),
        "k": str(run.top_k or DASH),
        "Model": ("SIMULATED: " if run.simulated else "")
        + run.model
        + (", replayed" if config.get("replayed") else ""),
        "Judge error": DASH if run.judge_error is None else f"{run.judge_error:g}",
        "Retriever": run.retriever or DASH,
        "Corpus": f"{_file(config.get('corpus'))}, {run.corpus}",
        "Web": DASH if not web else _file(web),
        "Questions at once": str(run.concurrency or DASH),
        "Seconds a question": SECONDS.text(run.value(SECONDS)),
        "Haystack": str(config.get("haystack_version") or DASH),
        "Started": str(config.get("started") or DASH)[:19],
    }


def _file(path: object) -> str:
    """Return a file with its folder, which distinguishes corpora; the config holds the whole path."""
    return "/".join(Path(str(path)).parts[-2:]) if path else DASH


def _count_only(comparison: Comparison) -> tuple[int, int, str]:
    """Return how many questions only the first run has right, how many only the other, and McNemar's p of these."""
    ids = differing_ids(comparison)
    first = sum(bool(comparison.run.predictions[id].right) for id in ids)
    p = mcnemar(first, len(ids) - first)
    return first, len(ids) - first, "< 0.001" if p < 0.001 else f"{p:.3f}"


def _name_some(ids: Sequence[str]) -> str:
    more = len(ids) - _IDS_NAMED
    return ", ".join(ids[:_IDS_NAMED]) + (f" and {more} more" if more > 0 else "")


def _markdown(value: object) -> str:
    """Escape a text for a Markdown table."""
    text = " ".join(str(value).split())
    for character in "\\`*[]<>|":
        text = text.replace(character, f"\\{character}")
    return text
