"""Write a report on any number of runs: a page, a Markdown file, and tables as files."""

from prefrag.evaluation.report.page import write_report

__all__ = ["write_report"]
