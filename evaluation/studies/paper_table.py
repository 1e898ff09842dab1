"""The tables of the papers that `matrix --table ID` runs and lays out: which runs each needs, and its text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import typer
import yaml

from prefrag.evaluation.report.comparison import score_intervals
from prefrag.evaluation.report.grouping import group_by_setting, group_by_task
from prefrag.evaluation.report.paper_tables import paper_tables
from prefrag.evaluation.report.runs import read_runs
from prefrag.evaluation.report.table import Table

PAPER_TABLES: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("paper_tables.yaml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class PaperTable:
    """The runs that a paper's table needs."""

    id: str  # such as `prefrag-1`
    shown: str  # the id of the report's table that lays it out
    pipelines: Sequence[str]  # each may have changed settings after its name
    datasets: Sequence[str]  # names of folders
    top_k: Sequence[int]
    split: bool

    @property
    def is_figure(self) -> bool:
        """Whether the paper draws it: the report has the picture."""
        return "-figure-" in self.id

    @classmethod
    def find(cls, id: str) -> Self:
        """Find a table by its id.

        :raises typer.BadParameter: There is no such table; the message lists all.
        """
        if id not in PAPER_TABLES:
            raise typer.BadParameter(f"There is no table '{id}': choose from {', '.join(PAPER_TABLES)}.")
        return cls(id, **PAPER_TABLES[id])

    def choose(self, folders: Sequence[Path]) -> tuple[list[Path], list[str]]:
        """Choose the table's datasets among folders, in its order, and name those that are not there.

        :raises typer.BadParameter: None is there.
        """
        named = {folder.name: folder for folder in folders}
        chosen = [named[name] for name in self.datasets if name in named]
        if not chosen:
            raise typer.BadParameter(
                f"Table {self.id} is over {', '.join(self.datasets)}: name folders that are called so."
            )
        return chosen, [name for name in self.datasets if name not in named]

    def lay_out(self, runs: Sequence[Path]) -> str:
        """Return the table as Markdown, from the folders of its runs."""
        all_runs = read_runs(runs)
        intervals = score_intervals(all_runs)
        texts = [
            _write(table)
            for of_task in group_by_task(all_runs).values()
            for table in paper_tables(group_by_setting(of_task), intervals)
            if table.id == self.shown
        ]
        return "\n\n".join(texts) or f"The runs of {self.id} have nothing to compare: it needs two methods or settings."


def _write(table: Table) -> str:
    return "\n".join([f"{table.title}. {table.note}".strip(), "", *_list_lines(table)])


def _list_lines(table: Table) -> Iterator[str]:
    columns = table.flat_columns
    yield f"| {' | '.join([table.label, *columns])} |"
    yield "|" + "---|" * (len(columns) + 1)
    for row in table.rows:
        texts = []
        for cell in row.cells:
            texts.append(f"{cell.text} ({cell.interval})" if cell.interval else cell.text)
        label = row.label
        if not row.cells:
            # A heading above other lines.
            label = f"*{row.label}*"
            texts = [""] * len(columns)
        yield f"| {' | '.join([label, *texts])} |"
