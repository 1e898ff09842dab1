"""Copy the documentation of installed Debian packages and PyPI distributions into a folder of ordinary files.

python -m prefrag.evaluation.studies.documentation.corpus FOLDER

The texts are not part of this repository, because they have many authors and licences. ``documents.json`` lists the
files.
"""

import gzip
import json
import os
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Annotated

import typer

# The list of the documents, with the package of each.
DOCUMENTS = Path(__file__).resolve().parent / "documents.json"
# The names of documents from PyPI begin with this.
_PYPI = "pypi:"


def list_documents() -> dict[str, str]:
    """Read the list of documents.

    :returns: The package of each document. The keys are paths of installed files, or names on PyPI such as
        "pypi:typer".
    """
    documents: dict[str, str] = json.loads(DOCUMENTS.read_text(encoding="utf-8"))
    return documents


def name_of(source: str) -> str:
    """Make the file name for a document.

    For example, ``name_of("/usr/share/doc/git/RelNotes.txt.gz")`` returns ``"git-RelNotes.txt"``, and
    ``name_of("pypi:typer")`` returns ``"typer.md"``.

    :param source: A key of :func:`list_documents`.
    :returns: The name.
    """
    if source.startswith(_PYPI):
        return f"{source.removeprefix(_PYPI)}.md"
    path = Path(source.removesuffix(".gz"))
    if "/man/" in source:
        return f"{path.name}.txt"
    ending = path.suffix if path.suffix in (".html", ".md", ".txt") else ".txt"
    # In "/usr/share/doc/git/RelNotes.txt", the part number 4 is "git".
    package = path.parts[4]
    return f"{package}-{path.stem}{ending}"


def gather(folder: Path) -> list[str]:
    """Write each document as a file that can be indexed.

    :param folder: The target folder.
    :returns: The packages that are not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    absent = []
    for source, package in list_documents().items():
        text = _read(source)
        if text is None:
            absent.append(package)
        else:
            (folder / name_of(source)).write_text(text, encoding="utf-8")
    return absent


def _read(source: str) -> str | None:
    """Read the text of a document. None if it is not installed."""
    if source.startswith(_PYPI):
        try:
            description = str(metadata(source.removeprefix(_PYPI)).json.get("description") or "")
            return description if description else None
        except PackageNotFoundError:
            return None
    path = Path(source)
    if not path.is_file():
        return None
    if "/man/" in source:
        if shutil.which("man") is None:
            return None
        settings = {**os.environ, "MANWIDTH": "100", "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"}
        page = subprocess.run(
            ["man", "--nh", "--nj", "-P", "cat", source], capture_output=True, env=settings, check=True, timeout=60
        )
        return page.stdout.decode("utf-8", "replace")
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    return data.decode("utf-8", "replace")


def main(folder: Annotated[Path, typer.Argument(help="The folder to write.")]) -> None:
    """Copy the documentation into a folder."""
    absent = gather(folder)
    typer.echo(f"{len(list_documents()) - len(absent)} documents in {folder}.")
    if absent:
        typer.echo(f"Install the missing packages: {' '.join(sorted(set(absent)))}", err=True)
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
