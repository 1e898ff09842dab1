"""Which of two documents is newer."""

from typing import Any

from prefrag.components.state.newness import is_edition, is_newer
from tests.for_each import for_each


def meta(name: str, date: str | None = None) -> dict[str, Any]:
    return {"source": "local", "file_path": f"/papers/{name}", **({"date": date} if date else {})}


@for_each(
    "newer, older",
    ("report v2.docx", "report v1.docx"),
    ("report v10.docx", "report v9.docx"),
    ("report-v2.1.pdf", "report-v2.0.docx"),
    ("Report Version 3.odt", "report v2.odt"),
    ("report final.docx", "report v7.docx"),
    ("report_FINAL_v2.docx", "report_final.docx"),
    ("Bericht endgültig.docx", "Bericht v2.docx"),
    ("report v2.docx", "report.docx"),
)
def test_of_two_versions_of_a_file_the_later_is_newer(newer: str, older: str) -> None:
    assert is_newer(meta(newer), meta(older))
    assert not is_newer(meta(older), meta(newer))


@for_each(
    "name, other",
    ("report v2.docx", "letter v1.docx"),
    ("2026/report final.docx", "2025/report v1.docx"),
    ("semifinal.docx", "semi.docx"),
    # A number in brackets counts copies.
    ("report (2).docx", "report (1).docx"),
    ("v2.docx", "v1.docx"),
)
def test_files_that_are_no_versions_are_not_compared(name: str, other: str) -> None:
    assert not is_newer(meta(name), meta(other))
    assert not is_newer(meta(other), meta(name))


@for_each(
    "date, other_date, is_first_newer",
    ("2024-05-01", "2025-05-01", False),
    ("2025-05-01", "2024", True),
    ("2024-05-01", "2024-05-01", True),
    (None, "2024-05-01", False),
    # The 3rd of May may be before or after another day of the year.
    ("2024", "2024-05-03", False),
)
def test_versions_decide_only_where_dates_do_not(date: str | None, other_date: str, is_first_newer: bool) -> None:
    assert is_newer(meta("plan final.docx", date), meta("plan v1.docx", other_date)) is is_first_newer


@for_each(
    "name, other, is_so",
    ("fares 2025.csv", "fares 2026.csv", True),
    ("2025 fares.csv", "2026 fares v2.csv", True),
    ("fares 2025.csv", "wages 2025.csv", False),
    ("2025.csv", "2026.csv", False),
)
def test_editions_have_names_that_differ_in_numbers_only(name: str, other: str, is_so: bool) -> None:
    assert is_edition(meta(name), meta(other)) is is_so
    assert not is_edition(meta(name), {**meta(other), "source": "web"})
