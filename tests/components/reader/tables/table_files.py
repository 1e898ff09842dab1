"""Write twelve files with tables as people make them. `table_questions.jsonl` holds questions about them."""

import io
import zipfile
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any


def write_files(folder: Path) -> None:
    """
    Write the files.

    :param folder: where to write them; it exists.
    """
    for name, content in {**_texts(), **_packages()}.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def _texts() -> dict[str, str]:
    timber = [
        ("Oak board 27 mm", "48.50", "sqm", "Rack 3"),
        ("Oak board 40 mm", "61.00", "sqm", "Rack 3"),
        ("Ash board 40 mm", "57.20", "sqm", "Rack 4"),
        ("Larch plank 27 mm", "22.90", "m", "Yard"),
        ("Beech worktop", "139.00", "piece", "Rack 1"),
    ]
    orders = [
        (f"ORD-{107098 + number}", f"{town} Joinery", town, f"{410 + 37 * number}.50")
        for number, town in enumerate(("Eskdale", "Harwick", "Norwick", "Ulby") * 10)
    ]
    staff = [
        ("Ada Bell", "Workshop", "0471 220 11", "ada@larkmill.example"),
        ("Ada Stone", "Office", "0471 220 12", "stone@larkmill.example"),
        ("Bob Bell", "Yard", "0471 220 17", "bob@larkmill.example"),
        ("Cleo Marsh", "Workshop", "0471 220 19", "cleo@larkmill.example"),
    ]
    return {
        "timber prices.csv": "\n".join(
            ["Price list of the timber yard from 1 March 2026;;;", ";;;", "Item;Price EUR;Unit;Store"]
            + [";".join(row) for row in timber]
        ),
        "orders.tsv": "\n".join("\t".join(row) for row in [("Order", "Customer", "Town", "Amount"), *orders]),
        "staff.csv": "\n".join(",".join(row) for row in [("Name", "Department", "Phone", "E-mail"), *staff]),
        "ferry times.html": (
            "<html><head><title>Ferry times</title></head><body><h1>Ferry times</h1>"
            "<p>The boats of the Sound Line call at both piers every day of the year, except on Christmas Day.</p>"
            "<table><tr><th rowspan=2>Boat</th><th colspan=2>Summer</th><th colspan=2>Winter</th></tr>"
            "<tr><th>First</th><th>Last</th><th>First</th><th>Last</th></tr>"
            "<tr><td>Tern</td><td>6:10</td><td>22:40</td><td>7:15</td><td>19:05</td></tr>"
            "<tr><td>Skua</td><td>5:55</td><td>23:10</td><td>7:45</td><td>18:30</td></tr>"
            "<tr><td>Knot</td><td>8:00</td><td>21:15</td><td>9:00</td><td>17:45</td></tr></table>"
            "<p>Dogs travel free of charge on all boats, and bicycles pay the fare of a child.</p></body></html>"
        ),
        "tide notes.md": (
            "# Moorings\n\nThe harbour board sets the fees each spring after the meeting of the members.\n\n"
            "| Zone | Fee per night | Water |\n|---|---|---|\n"
            "| A | 31 EUR | yes |\n| B | 24 EUR | yes |\n| C | 17.50 EUR | no |\n\n"
            "Boats over twelve metres have to ask the harbour office before they arrive.\n"
        ),
    }


def _packages() -> dict[str, bytes]:
    return {
        "sales.xlsx": _sales(),
        "fleet.xlsx": _fleet(),
        "invoices.xlsx": _invoices(),
        "suppliers.ods": _ods(),
        "rooms.docx": _docx(),
        "season.pptx": _pptx(),
        "loans.odt": _odt(),
    }


def _sales() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "2024"
    sheet.append(["Sales of the shop"])
    sheet.merge_cells("A1:C1")
    sheet.append([])
    sheet.append(["Month", "Sales", "Share online"])
    for row in ((date(2024, 3, 1), 8120.5, 0.19), (date(2024, 4, 1), 9340, 0.215), (date(2024, 5, 1), 10010, 0.24)):
        sheet.append(row)
        place = sheet.max_row
        sheet.cell(place, 1).number_format = "mmmm yyyy"
        sheet.cell(place, 2).number_format = '#,##0.00 "EUR"'
        sheet.cell(place, 3).number_format = "0.0%"
    # A second table to the right, and a third one below.
    for place, row in enumerate([("Till", "Opened by"), ("North", "Ida Moor"), ("South", "Per Lund")], start=3):
        sheet.cell(place, 5).value, sheet.cell(place, 6).value = row
    sheet.append([])
    sheet.append(["Returns of the shop"])
    sheet.append(["Month", "Pieces", "Reason"])
    sheet.append([date(2024, 4, 1), 14, "damaged"])
    sheet.cell(sheet.max_row, 1).number_format = "mmmm yyyy"
    return _save(book)


def _fleet() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Boats"
    for row in (
        ("Harbour", "Boat", "Seats", "Next inspection", "Longest trip"),
        ("Norwick", "Tern", 48, date(2026, 7, 2), timedelta(hours=36)),
        (None, "Skua", 72, date(2026, 9, 14), timedelta(hours=8, minutes=30)),
        ("Easthaven", "Dunlin", 30, date(2027, 1, 20), timedelta(hours=12)),
        (None, "Plover", 26, date(2026, 11, 5), timedelta(hours=4)),
    ):
        sheet.append(row)
        sheet.cell(sheet.max_row, 5).number_format = "[h]:mm"
    sheet.merge_cells("A2:A3")
    sheet.merge_cells("A4:A5")
    hidden = book.create_sheet("Old crew")
    hidden.append(["Boat", "Captain"])
    hidden.append(["Gannet", "Abe Holt"])
    hidden.sheet_state = "hidden"
    return _save(book)


def _invoices() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Invoices"
    for row in (
        ("Invoice", "Customer", "Items", "Total", "Status"),
        (12, "Quay Bakery", 17, 240, "paid"),
        (14, "Mill Cafe", 3, 95.5, "open"),
        (17, "Hotel Sound", 8, 1310.25, "open"),
        (19, "Quay Bakery", 2, 60, "overdue"),
        (21, "Reed School", 5, 410, "open"),
        ("Total", None, 35, 2115.75, None),
    ):
        sheet.append(row)
    return _save(book)


_NAMESPACES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in (("o", "office"), ("t", "text"), ("tb", "table"))
)


def _open_document(kind: str, body: str) -> bytes:
    content = f"<o:document-content {_NAMESPACES}><o:body><o:{kind}>{body}</o:{kind}></o:body></o:document-content>"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as package:
        package.writestr("content.xml", content)
    return made.getvalue()


def _table(name: str, rows: Sequence[Sequence[str]], wide: int = 0) -> str:
    """Write a table. The first cell of a row with nothing else spans ``wide`` columns."""
    text = ""
    for row in rows:
        if len(row) == 1 and wide:
            text += (
                f'<tb:table-row><tb:table-cell tb:number-columns-spanned="{wide}"><t:p>{row[0]}</t:p></tb:table-cell>'
                f'<tb:covered-table-cell tb:number-columns-repeated="{wide - 1}"/></tb:table-row>'
            )
        else:
            cells = "".join(f"<tb:table-cell><t:p>{cell}</t:p></tb:table-cell>" for cell in row)
            text += f"<tb:table-row>{cells}</tb:table-row>"
    return f'<tb:table tb:name="{name}">{text}</tb:table>'


def _ods() -> bytes:
    rows = [
        ("Supplier", "City", "Contact", "Discount"),
        ("Fjord Glue", "Bergen", "Liv Dahl", "5%"),
        ("Nord Screws", "Oslo", "Odd Berg", "3%"),
        ("Vestland Oil", "Bergen", "Siri Moe", "8%"),
        ("Kyst Rope", "Stavanger", "Nils Aas", "4%"),
    ]
    return _open_document("spreadsheet", _table("Suppliers", rows))


def _odt() -> bytes:
    rows = [
        ("Loan", "Borrower", "Due", "Rest"),
        ("Tools",),
        ("Band saw", "Reed School", "2026-05-30", "120"),
        ("Belt sander", "Mill Cafe", "2026-06-15", "45"),
        ("Vehicles",),
        ("Hand cart", "Hotel Sound", "2026-04-01", "0"),
        ("Trailer", "Reed School", "2026-08-20", "300"),
    ]
    return _open_document("text", f"<t:p>What the guild has lent.</t:p>{_table('Loans', rows, wide=4)}")


def _docx() -> bytes:
    import docx

    document = docx.Document()
    document.add_heading("Rooms of the guild hall", 1)
    document.add_paragraph("Members may hire a room for an evening. The keys are with the caretaker.")
    rows = [
        ("Room", "Seats", "Hire", "Hire"),
        ("Room", "Seats", "Members", "Guests"),
        ("Attic", "20", "15", "35"),
        ("Hall", "140", "90", "210"),
        ("Library", "12", "10", "25"),
    ]
    table = document.add_table(rows=len(rows), cols=4)
    for row, values in zip(table.rows, rows, strict=True):
        for cell, value in zip(row.cells, values, strict=True):
            cell.text = value
    for first, last in (((0, 0), (1, 0)), ((0, 1), (1, 1)), ((0, 2), (0, 3))):
        text = table.cell(*first).text
        table.cell(*first).merge(table.cell(*last)).text = text
    document.add_paragraph("Heating is included from October to April.")
    return _save(document)


def _pptx() -> bytes:
    import pptx

    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Course plan"
    # A sideways table: each course is a column.
    rows = [
        ("Course", "Turning", "Carving", "Gilding"),
        ("Teacher", "Cleo Marsh", "Per Lund", "Siri Moe"),
        ("Places", "8", "6", "4"),
        ("Fee", "120 EUR", "95 EUR", "160 EUR"),
    ]
    table = slide.shapes.add_table(len(rows), 4, 0, 0, 100, 100).table
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    return _save(presentation)


def _save(document: Any) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()
