"""The report: one page and one Markdown file from any number of run folders."""

from prefrag.evaluation.report.page import write_report

__all__ = ["write_report"]
