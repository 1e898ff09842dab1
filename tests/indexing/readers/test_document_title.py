"""Whether the title in a file's metadata is one."""

from prefrag.indexing.readers.document_title import is_title, plain_title
from tests.for_each import for_each


@for_each(
    "title",
    *(r"C:\Users\ada\Desktop\Doc1.docx", "/home/ada/knots.tex", r"\\server\knots", "file:///knots.htm", "~knots.indd"),
    *(
        "untitled.pdf",
        "i-xx_Knots-fm.indd",
        "Knots.xlsx",
        "(anonymous)",
        "<knots>",
        "Layout 1",
        "Document1",
        "Untitled-2",
    ),
    *("PowerPoint Presentation", "untitled", "Presentation", "Title", "Slide 7", "-", ".", "7", "12-04"),
)
def test_a_path_a_file_name_and_a_default_of_a_program_are_none(title: str):
    assert not is_title(title, "This presentation, a document, has the title: Encyclopaedia of knots.", "knots")


@for_each(
    "title",
    "Encyclopaedia of Knots",
    "On knots",
    "The bowline and its kin",
    "Ropework 2: a guide",
    "\u7d50\u3073",
    "A4",
)
def test_a_title_with_a_word_of_the_text_or_of_the_name_is_one(title: str):
    assert is_title(title, "Encyclopaedia of knots. The bowline is one.", "ropework")


@for_each(
    "title, plain",
    ("Microsoft PowerPoint - pier talk", "pier talk"),
    ("Microsoft Excel - fees.xls  [Compatibility Mode]", "fees.xls"),
    ("fees.xlsx - Sheet1", "fees.xlsx"),
    ("berth%20fees", "berth fees"),
    ("Fees - 2026", "Fees - 2026"),
    ("100% of the fees", "100% of the fees"),
)
def test_what_programs_write_around_a_title_leaves(title: str, plain: str):
    assert plain_title(title) == plain


def test_a_title_of_a_million_brackets_is_read_at_once():
    assert len(plain_title("Microsoft Word - " + "[" * 1_000_000)) < 1_001
