"""Tables in PDFs, which are only drawn, become rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest

from prefrag.components.text.table_rows import Table
from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.pdf_files import read_pdf
from prefrag.indexing.readers.pdf_pages import draw_page
from tests.for_each import for_each
from tests.indexing.pdfs import make_drawn_pdf, place_lines

pytest.importorskip("pypdfium2", reason="the extra 'files' is not installed")

RATES = [["Day", "Members", "Guests"], ["Saturday", "72", "90"], ["Sunday", "", "120"]]
RATE_ROWS = ["Day: Saturday; Members: 72; Guests: 90", "Day: Sunday; Guests: 120"]
# The left edge, the upper edge, the width of a column and the height of a row, in points.
LEFT, TOP, WIDTH, HEIGHT = 72, 700, 120, 20
# The words that follow each other down the page in a column of prose.
PROSE = "The harbour master of the quay opens the gate at six in the morning and he closes it at ten at night when all "
PROSE_LINES = [PROSE[start : start + 34].strip() for start in range(0, 34 * 3, 34)] * 3


def words(rows: Sequence[Sequence[str]], top: int = TOP, width: int = WIDTH, height: int = HEIGHT) -> str:
    """Write the texts of cells. A text of several lines has them below each other."""
    placed = [
        (LEFT + 4 + width * column, top - 14 - height * number - 11 * below, line)
        for number, row in enumerate(rows)
        for column, cell in enumerate(row)
        for below, line in enumerate(cell.split("\n"))
        if line
    ]
    return place_lines(placed)


def across(number: float, columns: int = 3, top: int = TOP, height: int = HEIGHT) -> str:
    """Draw the line above the row with this number."""
    y = top - height * number
    return f" {LEFT} {y} m {LEFT + WIDTH * columns} {y} l S "


def down(number: int, rows: float = 3, top: int = TOP, height: int = HEIGHT) -> str:
    """Draw the line left of the column with this number."""
    x = LEFT + WIDTH * number
    return f" {x} {top} m {x} {top - height * rows} l S "


def lines(rows: int = 3, columns: int = 3, top: int = TOP, height: int = HEIGHT) -> str:
    """Draw all lines of a table."""
    return "".join(
        [
            *(across(number, columns, top, height) for number in range(rows + 1)),
            *(down(number, rows, top, height) for number in range(columns + 1)),
        ]
    )


def thin_boxes() -> str:
    """Draw the lines of a table as filled rectangles, as Word does."""
    wide = "".join(f" {LEFT} {TOP - HEIGHT * number} {3 * WIDTH} 0.5 re f " for number in range(4))
    return wide + "".join(f" {LEFT + WIDTH * number} {TOP - 3 * HEIGHT} 0.5 {3 * HEIGHT} re f " for number in range(4))


def backgrounds() -> str:
    """Fill the background of each cell of a table."""
    return (
        "0.9 g"
        + "".join(
            f" {LEFT + WIDTH * column} {TOP - HEIGHT * (row + 1)} {WIDTH} {HEIGHT} re f "
            for row in range(3)
            for column in range(3)
        )
        + "0 g "
    )


def sides_of_cells() -> str:
    """Draw the four sides of each cell of a table, so that most lines are drawn twice."""
    return "".join(
        f" {LEFT + WIDTH * column} {TOP - HEIGHT * (row + 1)} {WIDTH} {HEIGHT} re S "
        for row in range(3)
        for column in range(3)
    )


def read(*pages: str) -> tuple[str, list[tuple[Table, int]]]:
    """Return the text of a PDF, and the rows of its tables."""
    outline = Outline()
    _, marked = read_pdf(make_drawn_pdf(pages), outline)
    text, _ = outline.read(marked)
    return text, [(table, number) for _, table, number in outline.rows]


def rows_of(*pages: str) -> list[str]:
    _, rows = read(*pages)
    return [table.write(table.rows[number]) for table, number in rows]


@for_each(
    "draw",
    lines,
    thin_boxes,
    backgrounds,
    sides_of_cells,
    # The sides of the table are open.
    lambda: "".join(map(across, range(4))) + down(1) + down(2),
    # The lines stand in a coordinate system of their own.
    lambda: "q 2 0 0 2 0 0 cm 0.5 0 0 0.5 0 0 cm" + lines() + "Q ",
)
def test_a_table_between_lines_becomes_rows(draw: Callable[[], str]):
    assert rows_of(draw() + words(RATES)) == RATE_ROWS


def test_a_table_stands_at_its_place_and_is_not_repeated():
    before, after = (
        place_lines([(LEFT, y, line)]) for y, line in ((720, "All rates exclude VAT."), (600, "Pay soon."))
    )

    text, _ = read(before + lines() + words(RATES) + after)

    assert text.strip() == "All rates exclude VAT.\n\n" + "\n".join(RATE_ROWS) + "\n\nPay soon."


def test_rows_stay_on_their_pages():
    other = [["Boat", "Seats", "Berth"], ["Tern", "48", "7"], ["Skua", "12", "9"]]

    text, _ = read(lines() + words(RATES), lines() + words(other))

    first, second = text.split("\f")
    assert first.split("\n")[2:4] == RATE_ROWS
    assert "Boat: Tern; Seats: 48; Berth: 7" in second


def test_the_rest_of_a_table_on_the_next_page_has_its_names():
    rest = [["Holiday", "99", "130"], ["Fair", "50", "60"]]
    first, second = (place_lines([(LEFT, 30, f"Port of Sandmere page {number}")]) for number in (1, 2))

    rows = rows_of(first + lines() + words(RATES), second + lines(2) + words(rest))

    assert rows[2:] == ["Day: Holiday; Members: 99; Guests: 130", "Day: Fair; Members: 50; Guests: 60"]
    other = place_lines([(LEFT, 760 - 12 * line, f"Another text {line}.") for line in range(4)])
    assert rows_of(lines() + words(RATES), other + lines(2) + words(rest))[2:] != rows[2:]


def test_lines_of_a_cell_belong_together_and_merged_names_count():
    rows = [["Type", "Room\ntemperature", ""], ["", "lowest", "highest"], ["TF-10", "-25", "-18\n(at night)"]]
    half = f" {LEFT + WIDTH} {TOP - 30} m {LEFT + 3 * WIDTH} {TOP - 30} l S "
    drawn = across(0, height=30) + half + across(2, height=30) + across(3, height=30) + down(0, height=30)
    drawn += down(1, height=30) + down(3, height=30)
    drawn += f" {LEFT + 2 * WIDTH} {TOP - 30} m {LEFT + 2 * WIDTH} {TOP - 90} l S "

    assert rows_of(drawn + words(rows, height=30)) == [
        "Type: TF-10; Room temperature lowest: -25; Room temperature highest: -18 (at night)"
    ]


def test_rows_without_lines_between_them_are_divided():
    drawn = across(0) + across(1) + across(3) + down(1) + down(2)
    full = [[*row] for row in RATES]
    full[2][1] = "95"

    assert rows_of(drawn + words(full)) == [RATE_ROWS[0], "Day: Sunday; Members: 95; Guests: 120"]


def test_a_table_below_its_own_heading_is_another_table():
    phones = [["Ann", "11", "12"], ["Bo", "13", "14"]]
    heading = place_lines([(LEFT, 780, "Phones of the office")])

    rows = rows_of(lines() + words(RATES), heading + lines(2) + words(phones))

    assert not any(row.startswith("Day: Ann") for row in rows)


def test_the_lines_of_a_form_stay_as_they_are():
    form = [["Customer", "Quay Bakery"], ["Order", "17"], ["Contact", "Ann Low"]]

    assert rows_of(lines(3, 2) + words(form)) == []


FORM = [
    ["Customer", "Castle Green", "Date", "3 May 2026"],
    ["Engineer", "Tomasz", "Order", "4711"],
    ["Site", "Mill Lane", "Phone", "0471 220 11"],
]
FORM_ROW = (
    "Customer: Castle Green; Date: 3 May 2026; Engineer: Tomasz; Order: 4711; Site: Mill Lane; Phone: 0471 220 11"
)


def test_form_of_four_columns_is_one_row_that_is_marked():
    page = lines(3, 4) + words(FORM)

    assert rows_of(page) == [FORM_ROW]
    marks = draw_page(make_drawn_pdf([page]), 1, FORM_ROW)["marks"]
    assert [mark["text"].strip() for mark in marks][:4] == ["Customer", "Castle Green", "Date", "3 May 2026"]


def test_labels_of_a_form_name_no_columns_of_the_next_page():
    rest = [["Pump", "2", "Seal", "3"], ["Valve", "4", "Pipe", "5"]]

    rows = rows_of(lines(3, 4) + words(FORM), lines(2, 4) + words(rest))

    assert not any("Customer: Pump" in row for row in rows)


def test_a_text_of_several_lines_is_no_row_of_its_own():
    rows = [["Day", "Fee"], ["Saturday", "5 but not for those with\na company telephone\nor a van"]]
    drawn = lines(1, 2) + across(3.5, 2) + "".join(down(number, 3.5) for number in range(3))

    assert rows_of(drawn + words(rows)) == ["Day: Saturday; Fee: 5 but not for those with a company telephone or a van"]


def test_a_table_between_horizontal_lines_becomes_rows():
    full = [*RATES[:2], ["Sunday", "95", "120"], ["Holiday", "99", "130"]]

    drawn = across(0) + across(1) + across(4)

    assert rows_of(drawn + words(full))[1:] == [
        "Day: Sunday; Members: 95; Guests: 120",
        "Day: Holiday; Members: 99; Guests: 130",
    ]


def test_aligned_columns_with_names_and_numbers_become_rows():
    full = [*RATES[:2], ["Sunday", "95", "120"], ["Holiday", "99", "130"]]

    assert rows_of(words(full))[:1] == RATE_ROWS[:1]


def test_the_sums_below_aligned_columns_are_rows():
    names = [["Article", "Price", "Total"]]
    articles = [["Rope", "1.50", "30"], ["Sail", "12.00", "36"], ["Shackle", "0.75", "9"]]
    sums = [["", "Net", "75"], ["", "Tax", "14"]]

    assert rows_of(words(names + articles + sums, width=60))[2:] == [
        "Article: Shackle; Price: 0.75; Total: 9",
        "Price: Net; Total: 75",
        "Price: Tax; Total: 14",
    ]


def test_a_line_near_below_a_full_cell_is_no_row():
    rows = [["Boat", "Fee", "Remark"], ["Tern", "120", "Needs 2 masts before it\nsails in 2027"]]
    rows += [["Skua", "140", "Lies at pier 2"], ["Auk", "90", "Sold"], ["Gull", "70", "None"]]

    assert rows_of(words(rows))[0] == "Boat: Tern; Fee: 120; Remark: Needs 2 masts before it sails in 2027"


@for_each(
    "drawn",
    # Two columns of prose, without and with lines above and below.
    words([[line, "", line] for line in PROSE_LINES], width=90),
    across(0) + across(1) + across(9) + words([[line, "", line] for line in PROSE_LINES], width=90),
    # A table of contents.
    words([["Chapter", "", "Page"], *[[f"Rope {n} . . . . . . . . .", "", f"{n}"] for n in range(1, 6)]]),
    words([[f"Of ropes {name}", "", f"{n}"] for n, name in enumerate("abcdef")]),
    # Fields of a form.
    words([["Field:", "Value:"], *[[f"Number {n}:", f"{n} kg"] for n in range(4)]]),
    # Two addresses beside each other.
    words([["Ada Lind", "Bo Holm"], ["Mill Street 5", "Quay 7"], ["Kendal 12", "Eskdale 3"]]),
    # Code with remarks.
    words([["x = {1};", "# one"], ["y = [2];", "# two"], ["z = 3;", "# 3"], ["a = 4;", "# 4"], ["b = 5;", "# 5"]]),
    # A frame around text, a page of two framed texts, and lines without text.
    lines(1, 1, height=100) + words([["The gate is green."]]),
    lines(1, 2, height=100) + words([["The gate is green.", "The boat is red."]]),
    lines(20, 20, height=5),
    # The grid behind a curve, with words that cross its lines.
    lines(6, 3) + words([[" ".join(["harbour"] * 9)[n:]] for n in range(6)]),
)
def test_what_is_no_table_stays_text(drawn: str):
    assert rows_of(drawn) == []


def test_white_lines_are_no_lines():
    drawn = "1 1 1 RG 1 1 1 rg " + lines() + thin_boxes() + "0 0 0 RG 0 g "

    assert rows_of(drawn + words(RATES)) == []


def test_a_letterhead_on_each_page_is_written_once():
    head = [["Port of Sandmere", "Rules"], ["Edition 5", "Kept by Ada"]]
    pages = [
        lines(2, 2) + words(head) + place_lines([(LEFT, 500, f"The {colour} boat is new.")])
        for colour in ("red", "blue", "white", "green")
    ]

    text, _ = read(*pages)

    assert text.count("Kept by Ada") == 1
    assert text.count("boat is new") == 4


def test_the_footer_does_not_fall_into_a_table():
    footer = place_lines([(LEFT, 30, "Thornbeck School page 1")])

    assert rows_of(footer + lines() + words(RATES)) == RATE_ROWS


def test_a_row_is_marked_on_the_drawn_page():
    data = make_drawn_pdf([lines() + words(RATES)])

    drawn = draw_page(data, 1, RATE_ROWS[0])

    assert [mark["text"].strip() for mark in drawn["marks"]] == ["Saturday", "72", "90"]
    assert draw_page(data, 1, "Day: Monday; Members: 72; Guests: 90")["marks"] == []


@for_each(
    "drawn",
    "".join(f" {n % 600} {n // 200} m {n % 600 + 30} {n // 200} l S " for n in range(100_000)),
    "".join(f" {n % 500} {n // 130} 3 2 re f " for n in range(100_000)),
    "".join(f" {n} 0 m {n} 790 l S 0 {n} m 600 {n} l S " for n in range(0, 600, 3)),
    " ".join(f"{n % 600} {n % 700} l" for n in range(100_000)).replace("l", "m", 1) + " S ",
    " 1e38 1e38 m -1e38 1e38 l S 0 0 m 1e38 0 l S 0 0 m 0 1e38 l S q 1e30 0 0 1e30 0 0 cm " + lines() + " Q ",
)
def test_a_page_full_of_lines_is_read_quickly(drawn: str):
    start = time.process_time()

    text, _ = read(drawn + words(RATES))

    assert "Saturday" in text
    assert time.process_time() - start < 10
