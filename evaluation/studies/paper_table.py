"""The tables of the papers that `matrix --table ID` runs and prints.

`paper_tables.yaml` says which runs each table needs. The report has the function that makes each table.
"""

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

# The runs that each table needs, by the id of the table.
PAPER_TABLES: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("paper_tables.yaml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class PaperTable:
    """The runs that a paper's table needs."""

    # The id, such as `prefrag-1`.
    id: str
    # The id of the report's table that is printed.
    shown: str
    # The names of the pipelines. Changed settings may follow a name.
    pipelines: Sequence[str]
    # The names of the folders of the datasets.
    datasets: Sequence[str]
    # The numbers of documents per retrieval.
    top_k: Sequence[int]
    # Whether the corpus is divided between the sources.
    split: bool

    @property
    def is_figure(self) -> bool:
        """Whether the paper has a figure and not a table. The report then draws the picture."""
        return "-figure-" in self.id

    @classmethod
    def find(cls, id: str) -> Self:
        """Find a table by its id.

        :param id: The id.
        :returns: The table.
        :raises typer.BadParameter: If there is no such table. The message lists all tables.
        """
        if id not in PAPER_TABLES:
            raise typer.BadParameter(f"There is no table '{id}': choose from {', '.join(PAPER_TABLES)}.")
        return cls(id, **PAPER_TABLES[id])

    def choose(self, folders: Sequence[Path]) -> tuple[list[Path], list[str]]:
        """Choose the datasets of the table among folders.

        :param folders: The folders of datasets.
        :returns: The folders of the table's datasets, in the order of the table, and the names of its datasets that are
            absent.
        :raises typer.BadParameter: If all are absent.
        """
        folder_by_name = {folder.name: folder for folder in folders}
        chosen_folders = [folder_by_name[name] for name in self.datasets if name in folder_by_name]
        if not chosen_folders:
            raise typer.BadParameter(
                f"Table {self.id} is over {', '.join(self.datasets)}: name folders that are called so."
            )
        return chosen_folders, [name for name in self.datasets if name not in folder_by_name]

    def lay_out(self, runs: Sequence[Path]) -> str:
        """Write the table.

        :param runs: The folders of the runs.
        :returns: The table as Markdown.
        """
        all_runs = read_runs(runs)
        intervals = score_intervals(all_runs)
        texts = []
        for runs_of_task in group_by_task(all_runs).values():
            for table in paper_tables(group_by_setting(runs_of_task), intervals):
                if table.id == self.shown:
                    texts.append(_write(table))
        if not texts:
            return f"The runs of {self.id} have nothing to compare: it needs two methods or settings."
        return "\n\n".join(texts)


def _write(table: Table) -> str:
    """Write a table of the report as Markdown, with its title and note."""
    heading = f"{table.title}. {table.note}".strip()
    return "\n".join([heading, "", *_list_lines(table)])


def _list_lines(table: Table) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    columns = table.flat_columns
    yield f"| {' | '.join([table.label, *columns])} |"
    yield "|" + "---|" * (len(columns) + 1)
    for row in table.rows:
        texts = []
        for cell in row.cells:
            texts.append(f"{cell.text} ({cell.interval})" if cell.interval else cell.text)
        label = row.label
        if not row.cells:
            # A row without cells is a heading above other lines.
            label = f"*{row.label}*"
            texts = [""] * len(columns)
        yield f"| {' | '.join([label, *texts])} |"
