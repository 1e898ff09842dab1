"""The forms in which files are read: their names in the metadata, their suffixes and their limits."""

from pathlib import Path
from typing import NamedTuple

TEXT, MARKDOWN, RST, HTML, PDF = "text", "markdown", "rst", "html", "pdf"
DOCX, PPTX, XLSX, CSV, JSON = "docx", "pptx", "xlsx", "csv", "json"
ODT, ODP, ODS, RTF, EPUB, MAIL, CODE = "odt", "odp", "ods", "rtf", "epub", "mail", "code"
# A compressed text is read as the text inside it.
COMPRESSED = ".gz"
_CODE = (
    *(".py", ".js", ".mjs", ".ts", ".tsx", ".jsx", ".java", ".kt", ".scala", ".c", ".h", ".cc", ".cpp", ".hpp"),
    *(".cs", ".go", ".rs", ".rb", ".php", ".pl", ".lua", ".r", ".jl", ".swift", ".sh", ".bash", ".ps1", ".bat"),
    *(".sql", ".css", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".properties", ".tf", ".proto"),
)


class Form(NamedTuple):
    """A form in which files are read."""

    most_bytes: int  # a converter needs a whole file in memory, for Markdown and HTML up to 100 times its size
    suffixes: tuple[str, ...]
    package: str = ""  # the package that reads it, if an extra installs that
    is_text: bool = False


# Files without a suffix are read only if they look like text, see the module `discovery`.
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
FORMATS = {suffix: name for name, form in FORMS.items() for suffix in form.suffixes}


def form_of(path: Path) -> str | None:
    """Find the form in which a file is read, by its name; None for one that is not read.

    A number after the last dot belongs to the name, as in LGPL-2.1.
    """
    suffix = path.suffix.lower()
    if suffix == COMPRESSED:
        inner = path.with_suffix("")
        form = form_of(inner) if inner.suffix.lower() != COMPRESSED else None
        return form if form and FORMS[form].is_text else None
    return FORMATS.get("" if suffix[1:].isdecimal() else suffix)


def most_bytes(path: Path) -> int:
    """Find the largest size at which a file with this name is read."""
    return FORMS[form_of(path) or TEXT].most_bytes
