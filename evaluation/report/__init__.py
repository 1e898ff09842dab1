"""Write a report on any number of run folders: one page and one Markdown file."""

from prefrag.evaluation.report.page import write_report

__all__ = ["write_report"]
