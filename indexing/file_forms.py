"""The forms of files that can be read, such as PDF or code, with their suffixes and maximum sizes.

The search for files and the file converter use :func:`form_of`, which finds the form of a file by its name. One form
may have many suffixes. For example, all programming languages are the form "code".
"""

from pathlib import Path
from typing import NamedTuple

# The names of the forms.
TEXT = "text"
MARKDOWN = "markdown"
RST = "rst"
HTML = "html"
PDF = "pdf"
DOCX = "docx"
PPTX = "pptx"
XLSX = "xlsx"
CSV = "csv"
JSON = "json"
ODT = "odt"
ODP = "odp"
ODS = "ods"
RTF = "rtf"
EPUB = "epub"
MAIL = "mail"
CODE = "code"
# This is no form, but the suffix of a compressed file. Such a file, as data.csv.gz, is unpacked and then read like the
# file inside it.
COMPRESSED = ".gz"
# The suffixes of code and of configuration files.
_CODE = (
    ".py",
    ".js",
    ".mjs",
    ".ts",
    ".tsx",
    ".jsx",
    ".java",
    ".kt",
    ".scala",
    ".c",
    ".h",
    ".cc",
    ".cpp",
    ".hpp",
    ".cs",
    ".go",
    ".rs",
    ".rb",
    ".php",
    ".pl",
    ".lua",
    ".r",
    ".jl",
    ".swift",
    ".sh",
    ".bash",
    ".ps1",
    ".bat",
    ".sql",
    ".css",
    ".yaml",
    ".yml",
    ".toml",
    ".ini",
    ".cfg",
    ".conf",
    ".properties",
    ".tf",
    ".proto",
)


class Form(NamedTuple):
    """A form of file that can be read, such as PDF or code.

    :param most_bytes: The maximum size of a file in bytes. It also limits the memory that reading needs: for an HTML
        page, up to 100 times the size of the file.
    :param suffixes: The suffixes of such files in small letters, with their dots. "" stands for no suffix.
    :param package: The optional package that is needed to read such files, by its import name. "" if none is needed.
    :param is_text: Whether the files are text. Such files may also be compressed.
    """

    most_bytes: int
    suffixes: tuple[str, ...]
    package: str = ""
    is_text: bool = False


# The forms by their names. A file without a suffix is read only if it looks like text. The module ``discovery`` checks
# that.
FORMS = {
    TEXT: Form(50_000_000, (".txt", ".text", "", ".log", ".tex", ".org", ".adoc"), is_text=True),
    MARKDOWN: Form(5_000_000, (".md", ".markdown"), is_text=True),
    RST: Form(2_000_000, (".rst",), "docutils", is_text=True),
    HTML: Form(10_000_000, (".html", ".htm", ".xhtml"), is_text=True),
    PDF: Form(200_000_000, (".pdf",), "pypdfium2"),
    DOCX: Form(100_000_000, (".docx",), "docx"),
    PPTX: Form(200_000_000, (".pptx",), "pptx"),
    XLSX: Form(50_000_000, (".xlsx",), "openpyxl"),
    CSV: Form(50_000_000, (".csv", ".tsv"), is_text=True),
    JSON: Form(20_000_000, (".json",), is_text=True),
    ODT: Form(100_000_000, (".odt",)),
    ODP: Form(200_000_000, (".odp",)),
    ODS: Form(50_000_000, (".ods",)),
    RTF: Form(20_000_000, (".rtf",), "striprtf"),
    EPUB: Form(100_000_000, (".epub",), "trafilatura"),
    MAIL: Form(200_000_000, (".eml", ".mbox"), is_text=True),
    CODE: Form(2_000_000, _CODE, is_text=True),
}
# The name of the form of each suffix.
FORMATS = {suffix: name for name, form in FORMS.items() for suffix in form.suffixes}


def form_of(path: Path) -> str | None:
    """Find the form of a file by its name.

    For example, "a.csv.gz" gives "csv", and "a.png" gives None. A number after the last dot is not a suffix, so
    "LGPL-2.1" gives "text" like a name without a suffix.

    :param path: The path of the file. The file is not opened.
    :returns: The name of the form; None if files with this name are not read.
    """
    suffix = path.suffix.lower()
    if suffix != COMPRESSED:
        is_number = suffix[1:].isdecimal()
        return FORMATS.get("" if is_number else suffix)

    # For "data.csv.gz" the inner file is "data.csv". It may not be compressed again.
    inner = path.with_suffix("")
    if inner.suffix.lower() == COMPRESSED:
        return None
    # Only texts are read from compressed files.
    form = form_of(inner)
    return form if form and FORMS[form].is_text else None


def most_bytes(path: Path) -> int:
    """Find the maximum size of a file by its name.

    :param path: The path of the file. The file is not opened.
    :returns: The maximum size in bytes. For a name of no form, it is the maximum size of a text.
    """
    return FORMS[form_of(path) or TEXT].most_bytes
