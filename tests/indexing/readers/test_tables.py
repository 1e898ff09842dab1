"""Tables in grids of cells, as people lay them out."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.text.table_rows import Table
from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.tables import MOST_COLUMNS, Grid, PlacedCell, Span, place_cells, write_grid
from tests.for_each import for_each


def rows_of(text: str, *spans: Span, headers: frozenset[int] = frozenset()) -> list[str]:
    """Write the tables of a grid whose cells are divided by bars, and return the lines without marks."""
    rows = [[cell.strip() for cell in line.split("|")] for line in text.strip().split("\n")]
    return read(Grid(rows, spans, headers))[0]


def read(grid: Grid) -> tuple[list[str], list[Table]]:
    outline = Outline()
    text, _ = outline.read("\n".join(write_grid(grid, outline)))
    return text.split("\n"), list({table.number: table for _, table, _ in outline.rows}.values())


BOATS = "Boat | Seats\nTern | 48\nSkua | 72"
READ = ["Boat: Tern; Seats: 48", "Boat: Skua; Seats: 72"]


def test_a_title_above_a_table_stands_in_each_row() -> None:
    assert rows_of(f"Fleet of 2026 |\n{BOATS}") == [f"Fleet of 2026; {row}" for row in READ]
    assert rows_of(f"Fleet of 2026 |\n | \n{BOATS}") == [f"Fleet of 2026; {row}" for row in READ]
    assert rows_of(f"Fleet of 2026 |\n{BOATS}", Span(0, 0, 1, 2)) == [f"Fleet of 2026; {row}" for row in READ]


def test_names_that_stand_again_below_a_title_begin_a_table() -> None:
    text = "Plan |\nFees |\nItem | Cost\nRope | 7\nSail | 9\nSpare parts |\nItem | Cost\nOar | 5\nMast | 8"

    assert rows_of(text) == [
        "Plan, Fees; Item: Rope; Cost: 7",
        "Plan, Fees; Item: Sail; Cost: 9",
        "Spare parts; Item: Oar; Cost: 5",
        "Spare parts; Item: Mast; Cost: 8",
    ]


@for_each(
    "text, last",
    # Names without a title above them; a title without names below it; values that stand again.
    ("Item | Cost\nRope | 7\nItem | Cost\nOar | 5", "Item: Oar; Cost: 5"),
    ("Item | Cost\nRope | 7\nSpare parts |\nOar | 5", "Item: Oar; Cost: 5"),
    ("Rope | 7\nSpare parts |\nRope | 7", "Rope; 7"),
)
def test_other_rows_that_stand_again_begin_no_table(text: str, last: str) -> None:
    lines, tables = read(Grid([[cell.strip() for cell in line.split("|")] for line in text.split("\n")]))

    assert lines[-1] == last
    assert len(tables) == 1


def test_preamble_is_written_once_and_its_last_line_is_the_title() -> None:
    preamble = "A note on how the seats were counted, " * 4

    assert rows_of(f"{preamble.strip()} |\nFleet |\n{BOATS}") == [preamble.strip(), *(f"Fleet; {row}" for row in READ)]


def test_a_merged_cell_gives_its_text_to_each_row() -> None:
    merged = rows_of("Harbour | Boat\nNorwick | Tern\n | Skua\nUlby | Knot", Span(1, 0, 2, 1))

    assert merged == ["Harbour: Norwick; Boat: Tern", "Harbour: Norwick; Boat: Skua", "Harbour: Ulby; Boat: Knot"]


def test_repeated_names_get_numbers_that_no_column_has() -> None:
    assert rows_of("Price 2 | Price | Price | Price\n1 | 3 | 4 | 5") == ["Price 2: 1; Price: 3; Price 3: 4; Price 4: 5"]


def test_two_rows_of_names_are_joined() -> None:
    text = "Boat | Summer | | Winter |\n | First | Last | First | Last\nTern | 6:10 | 22:40 | 7:15 | 19:05"
    joined = ["Boat: Tern; Summer First: 6:10; Summer Last: 22:40; Winter First: 7:15; Winter Last: 19:05"]

    assert rows_of(text, Span(0, 0, 2, 1), Span(0, 1, 1, 2), Span(0, 3, 1, 2)) == joined
    assert rows_of(text.replace("\n | First", "\nBoat | First")) == joined


def test_a_row_below_a_wide_name_is_no_name_if_it_holds_values() -> None:
    text = "Name | Contact |\nAda | 11 | ada@x.example\nBob | 12 | bob@x.example"

    assert rows_of(text, Span(0, 1, 1, 2))[0] == "Name: Ada; Contact: 11; Contact: ada@x.example"


@for_each("spans", (), (Span(1, 0, 1, 3), Span(4, 0, 1, 3)))
def test_a_row_of_one_cell_names_the_group_of_the_rows_below(spans: tuple[Span, ...]) -> None:
    text = "Loan | Borrower | Rest\nTools | |\nSaw | School | 120\nPlane | Cafe | 45\nVehicles | |\nCart | Hotel | 7"

    assert rows_of(text, *spans) == [
        "Tools; Loan: Saw; Borrower: School; Rest: 120",
        "Tools; Loan: Plane; Borrower: Cafe; Rest: 45",
        "Vehicles; Loan: Cart; Borrower: Hotel; Rest: 7",
    ]


def test_a_merged_row_between_others_names_a_group() -> None:
    text = "Loan | Rest\nPlane | 45\nVehicles |\nCart | 7"

    assert rows_of(text, Span(2, 0, 1, 2)) == ["Loan: Plane; Rest: 45", "Vehicles; Loan: Cart; Rest: 7"]


def test_a_row_without_values_among_others_is_no_group() -> None:
    assert rows_of("Name | Phone | City\nAda | 11 | Ulby\nBob | |\nCleo | 13 | Ulby")[1:] == [
        "Name: Bob",
        "Name: Cleo; Phone: 13; City: Ulby",
    ]


def test_tables_beside_and_below_each_other_have_their_own_names() -> None:
    beside = rows_of("Boat | Seats | | Till | Opened by\nTern | 48 | | North | Ida\nSkua | 72 | | South | Per")
    below = rows_of(f"{BOATS}\n | \nReturns |\nMonth | Pieces\nApril | 14")

    lower = rows_of("Boat | Seats | | |\nTern | 48 | | Till | Opened by\nSkua | 72 | | South | Per")

    assert lower == [*READ, "Till: South; Opened by: Per"]
    assert beside == [*READ, "Till: North; Opened by: Ida", "Till: South; Opened by: Per"]
    assert below == [*READ, "Returns; Month: April; Pieces: 14"]


def test_rows_below_a_blank_row_without_names_continue_the_table() -> None:
    lines, [table] = read(Grid([["Boat", "Seats"], ["Tern", "48"], [], ["Skua", "72"], ["Knot", "12"]]))

    assert lines == [*READ, "Boat: Knot; Seats: 12"]
    assert [row.cells for row in table.rows] == [("Tern", "48"), ("Skua", "72"), ("Knot", "12")]


@for_each(
    "above, below, row",
    ("boat | cook\nTern | Ada Lund", "port | pilot\nEskdale | Bo Kern\nUlm | Cy Dahl", "port: Ulm; pilot: Cy Dahl"),
    (
        "name | room | floor\nAda Lund | A4 | 2nd",
        "course | teacher | day\nRowing | Bo Kern | 3 May\nYoga | Cy Dahl | Friday",
        "course: Yoga; teacher: Cy Dahl; day: Friday",
    ),
    # These rows go on with the table above.
    ("boat | cook\nTern | Ada Lund", "Skua | Bo Kern\nKnot | Cy Dahl", "boat: Knot; cook: Cy Dahl"),
    ("Boat | Cook\nTern | Ada Lund", "Skua | Bo Kern\nKnot | Cy Dahl", "Boat: Knot; Cook: Cy Dahl"),
    ("plant | colour\nrose | red", "lily | white\ntulip | yellow", "plant: tulip; colour: yellow"),
    ("name | note\nAda Lund | late", "bo kern | early\nCy Dahl | late", "name: Cy Dahl; note: late"),
    ("name | town\nAda Lund | Ulm", "vacant | none\nCy Dahl | Delft", "name: Cy Dahl; town: Delft"),
    (
        "user | role | team\nada | Admin | Ops\nBo | Editor | Web",
        "root | system | none\nCy | Editor | Web\nDi | Admin | Ops",
        "user: Di; role: Admin; team: Ops",
    ),
    ("FIRM | TOWN\nSandmere | Eskdale", "KLR | ULM\nTorne | Delft\nQuay | Breda", "FIRM: Quay; TOWN: Breda"),
    ("name | town\nAda Lund | Ulm", "vacant | vacant\nCy Dahl | Delft", "name: Cy Dahl; town: Delft"),
)
def test_letters_show_names_below_a_blank_row(above: str, below: str, row: str) -> None:
    assert rows_of(f"{above}\n\n{below}")[-1] == row


@for_each(
    "rows",
    [["Average", "60"]],
    [["Prepared by", "Anna"]],
    [["Prepared by", "Anna"], ["Seen by", "Bo"]],
    [["Paid", "1", "2"], ["Due", "3", "4"]],
)
def test_a_block_below_a_blank_row_is_not_part_of_the_table(rows: list[list[str]]) -> None:
    _, tables = read(Grid([["Boat", "Seats", "Crew"], ["Tern", "48"], ["Skua", "72"], [], *rows]))

    assert [row.cells for row in tables[0].rows] == [("Tern", "48"), ("Skua", "72")]


def test_a_row_that_is_no_second_row_of_names_changes_no_name() -> None:
    text = "Boat | Summer | | Winter |\nTern | open | shut | open | shut\nSkua | shut | open | shut | open"

    assert rows_of(text)[0] == "Boat: Tern; Summer: open; shut; Winter: open; shut"


STOCK = """
Stock of May | | | | |
Parts | | | Tools | |
No. | Shelf | | Item | Unit | On hand
1 | B2 | | Saw | piece | 4
2 | B3 | | Glue | tin | 5
"""
STOCK_READ = [
    "Stock of May, Parts; No.: 1; Shelf: B2",
    "Stock of May, Parts; No.: 2; Shelf: B3",
    "Stock of May, Tools; Item: Saw; Unit: piece; On hand: 4",
    "Stock of May, Tools; Item: Glue; Unit: tin; On hand: 5",
]


@for_each("spans", (Span(1, 0, 1, 2), Span(1, 3, 1, 3)), ())
def test_tables_beside_each_other_have_their_own_titles(spans: tuple[Span, ...]) -> None:
    assert rows_of(STOCK, Span(0, 0, 1, 6), *spans) == STOCK_READ


def test_merged_group_beside_another_table_is_a_group() -> None:
    text = "No. | Shelf | | Item | Unit\nScrews | | | Saw | piece\n1 | B2 | | Glue | tin"

    assert rows_of(text, Span(1, 0, 1, 2))[0] == "Screws; No.: 1; Shelf: B2"


def test_tables_beside_each_other_each_have_two_name_rows() -> None:
    text = "Boat | Trip | | | Till | Sum |\n | First | Last | | | In | Out\nTern | 4 | 5 | | North | 6 | 7"

    assert rows_of(text, Span(0, 1, 1, 2), Span(0, 5, 1, 2)) == [
        "Boat: Tern; Trip First: 4; Trip Last: 5",
        "Till: North; Sum In: 6; Sum Out: 7",
    ]


PRICES = """
Boats | | Price | | Weeks
No. | Name | Trade | List |
7 | Tern | 40 | 50 | 4
8 | Skua | | 60 | 5
"""


@for_each("spans", (Span(0, 2, 1, 2),), ())
def test_title_in_the_first_cell_of_two_name_rows(spans: tuple[Span, ...]) -> None:
    assert rows_of(PRICES, *spans) == [
        "Boats; No.: 7; Name: Tern; Price Trade: 40; Price List: 50; Weeks: 4",
        "Boats; No.: 8; Name: Skua; Price List: 60; Weeks: 5",
    ]


def test_second_table_below_has_a_title_in_its_name_rows() -> None:
    lower = PRICES.strip().replace("Boats", "Canoes")

    lines = rows_of(f"Prices of May\n\n{PRICES.strip()}\n\n{lower}", Span(2, 2, 1, 2))

    assert lines[0].startswith("Prices of May, Boats; No.: 7; ")
    assert lines[2] == "Canoes; No.: 7; Name: Tern; Price Trade: 40; Price List: 50; Weeks: 4"


@for_each(
    "text, read",
    ("Name | Contact |\nAda | mobile | mail\nBob | home | none\nCy | work | mail", "Name: Ada; Contact: mobile; mail"),
    ("Name | | Score |\nAda | Lee | 5 | x\nBob | May | 6 | y", "Name: Ada; Lee; Score: 5; x"),
)
def test_row_of_values_below_a_gap_in_the_names_is_no_name(text: str, read: str) -> None:
    assert rows_of(text)[0] == read


def test_note_below_a_table_is_no_title_of_the_next() -> None:
    note = "Debts over 15 are written to the parents."
    assert rows_of(f"{BOATS}\n\n{note}\n\nMeals\nMonth | Paid\nMay | 6") == [*READ, note, "Meals; Month: May; Paid: 6"]
    assert rows_of(f"{BOATS}\n\n{note}\nMeals\nMonth | Paid\nMay | 6") == [*READ, note, "Meals; Month: May; Paid: 6"]
    assert rows_of(f"{BOATS}\n\n* net\n\nMeals\n\nMonth | Paid\nMay | 6") == [
        *READ,
        "* net",
        "Meals; Month: May; Paid: 6",
    ]


def test_a_sentence_directly_above_a_table_is_its_title() -> None:
    note = "These meals were paid."

    assert rows_of(f"{BOATS}\n\n{note}\nMonth | Paid\nMay | 6")[2:] == [f"{note}; Month: May; Paid: 6"]


def test_rows_below_a_note_continue_the_table() -> None:
    note = "The others are hired."

    assert rows_of(f"{BOATS}\n\n{note}\n\nKnot | 12\nGull | 9")[2:] == [
        note,
        "Boat: Knot; Seats: 12",
        "Boat: Gull; Seats: 9",
    ]


def test_unit_alone_is_a_name_and_begins_a_new_table() -> None:
    costs = "Costs | Number | Each | Total\nCoach | 1 | 345 | 345\nSpare | | | 25"
    income = "Income | | | \u00a3\nParents | 27 | 16 | 432\nFriends | | | 100"

    assert rows_of(f"{costs}\n\n{income}")[2:] == [
        "Income: Parents; Number: 27; Each: 16; \u00a3: 432",
        "Income: Friends; \u00a3: 100",
    ]


@for_each(
    "rows",
    ["Called first | Mr Cobb", "Called second | Mrs Prowse"],
    ["Monday | 8 to 5", "Sunday | closed"],
    ["Room 1 | Ada", "Room 2 | Bo"],
)
def test_a_row_like_the_row_below_names_no_columns(rows: list[str]) -> None:
    text = "\n".join(rows)

    assert rows_of(f"Alarm\n{text}") == [f"Alarm; {row.replace(' | ', '; ')}" for row in rows]


def test_several_persons_or_days_in_a_row_name_columns() -> None:
    text = "Day | Mr Cobb | Mrs Prowse\nMonday | Mr Lee | Mrs Nair\nTuesday | Mr Fell | Mrs Dodd"

    assert rows_of(text)[0] == "Day: Monday; Mr Cobb: Mr Lee; Mrs Prowse: Mrs Nair"


def test_columns_below_a_merged_name_share_it_unnumbered() -> None:
    text = "Term | | Opens\nAutumn | first half | 3 September\nSpring | second half | 5 January"

    assert rows_of(text, Span(0, 0, 1, 2))[0] == "Term: Autumn; Term: first half; Opens: 3 September"


@for_each(
    "text, written",
    ("Course | Turning | Carving\nTeacher | Cleo | Per\nPlaces | 8 | 6", "Course: Turning; Teacher: Cleo; Places: 8"),
    ("Customer: | Quay Bakery\nDate: | 3 May 2026\nTotal: | 90", "Customer: Quay Bakery; Date: 3 May 2026; Total: 90"),
    ("Cost | Spring | Autumn\nRent | 900 | 1020\nFood | 80 | 90", "Cost: Rent; Spring: 900; Autumn: 1020"),
)
def test_a_table_whose_columns_are_the_records_is_turned(text: str, written: str) -> None:
    assert rows_of(text)[0] == written


def test_rows_that_the_file_marks_name_the_columns() -> None:
    assert rows_of("Size | 1\nPrice | 900", headers=frozenset({0})) == ["Size: Price; 1: 900"]
    assert rows_of("Boat | Trip\nname | hours\nTern | 3", headers=frozenset({0, 1})) == [
        "Boat name: Tern; Trip hours: 3"
    ]


def test_table_marked_all_over_has_its_first_row_as_columns() -> None:
    assert rows_of(BOATS, headers=frozenset(range(3))) == READ


def test_cells_that_cover_others_are_placed_as_a_browser_does() -> None:
    rows = [[("Boat", 2, 1), ("Summer", 1, 2)], [("First", 1, 1), ("Last", 1, 1)], [("Tern", 1, 1)]]
    grid = place_cells([[PlacedCell(*cell) for cell in row] for row in rows])

    assert grid.rows == [["Boat", "Summer", ""], ["", "First", "Last"], ["Tern"]]
    assert grid.spans == [Span(0, 0, 2, 1), Span(0, 1, 1, 2)]


def test_hostile_spans_are_read_in_seconds() -> None:
    before = time.process_time()
    grid = place_cells([[PlacedCell("x", 1_000_000, 1_000_000), PlacedCell("y", 1, 9)] for _ in range(2_000)])
    merged = Grid([["a", "b"] for _ in range(5_000)], [Span(row % 5_000, 0, 10**6, 10**4) for row in range(100_000)])

    assert max(map(len, grid.rows)) <= MOST_COLUMNS
    assert len(read(merged)[0]) <= 5_000
    assert time.process_time() - before < 20


@given(
    st.lists(st.lists(st.text(max_size=5), max_size=5), max_size=8),
    st.lists(st.builds(Span, *[st.integers(0, 7)] * 2, *[st.integers(1, 9)] * 2), max_size=3),
)
def test_no_value_of_any_grid_is_lost(rows: list[list[str]], spans: list[Span]) -> None:
    values = {" ".join(value.split()).removesuffix(":") for row in rows for value in row}
    lines, tables = read(Grid([list(row) for row in rows]))
    text = "\n".join([*lines, *(name for table in tables for name in table.columns)])

    assert all(value in text for value in values)
    # Text below a merged cell, which no program shows, is lost, but nothing else.
    assert read(Grid(rows, spans))[0]


def test_gap_below_other_names_is_not_filled() -> None:
    days = "Name | Mon | Tue | Wed\nAnn | 1 | 2 | 3\nBo | 4 | 5 | 6"
    more = "Name | Thu | | Fri\nAnn | 7 | 1 | 8\nBo | 9 | 1 | 2"

    assert not any("Tue: 1" in row for row in rows_of(f"{days}\n\n{more}"))
