"""The forms of files that can be read, such as PDF or code, and the suffixes and the maximum size of each form."""

from pathlib import Path
from typing import NamedTuple

TEXT, MARKDOWN, RST, HTML, PDF = "text", "markdown", "rst", "html", "pdf"
DOCX, PPTX, XLSX, CSV, JSON = "docx", "pptx", "xlsx", "csv", "json"
ODT, ODP, ODS, RTF, EPUB, MAIL, CODE = "odt", "odp", "ods", "rtf", "epub", "mail", "code"
# A file with this suffix, such as data.csv.gz, is unpacked and then read like the file inside it.
COMPRESSED = ".gz"
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
    """A form of file that can be read, such as PDF or code."""

    most_bytes: int  # the maximum size of a file, which limits memory: HTML needs up to 100 times its size
    suffixes: tuple[str, ...]
    package: str = ""  # the optional package that is needed to read such files
    is_text: bool = False  # whether the files are text, which may also be compressed


# A file without a suffix is read only if it looks like text, which the module `discovery` checks.
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
FORMATS = {suffix: name for name, form in FORMS.items() for suffix in form.suffixes}  # the form of each suffix


def form_of(path: Path) -> str | None:
    """Find the form of a file by its name. Returns None if files with this name are not read.

    A number after the last dot is not a suffix, so LGPL-2.1 counts as a name without a suffix.
    """
    suffix = path.suffix.lower()
    if suffix == COMPRESSED:
        inner = path.with_suffix("")
        form = form_of(inner) if inner.suffix.lower() != COMPRESSED else None
        return form if form and FORMS[form].is_text else None
    return FORMATS.get("" if suffix[1:].isdecimal() else suffix)


def most_bytes(path: Path) -> int:
    """Find how many bytes a file with this name may have at most."""
    return FORMS[form_of(path) or TEXT].most_bytes
