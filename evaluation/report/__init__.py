"""Write a report that compares any number of runs: a page, a Markdown file, and each table as a file."""

from prefrag.evaluation.report.page import write_report

__all__ = ["write_report"]
