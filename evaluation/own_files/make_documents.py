"""Make the documents for the questions about people's own files, and check the questions against them.

python -m prefrag.evaluation.own_files.make_documents FOLDER [--packages FOLDER] [--train | --languages]

- The manuals come from Debian packages, whose versions packages.json pins. Manual pages are formatted with groff, which
  must be installed.
- The files of four invented organisations are written from organisations/*.yaml.
- --train makes the documents for train.jsonl instead (from packages_train.json and organisations/train/*.yaml).
- --languages makes the documents for the questions in six languages (from languages.json).
"""

import gzip
import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Annotated, TypedDict

import typer

from prefrag.errors import BadInput
from prefrag.evaluation.own_files.checks import find_faults, read_questions
from prefrag.evaluation.own_files.office_documents import write_organisations

# Matches the path of a manual page in a package, such as "usr/share/man/man1/rsync.1".
_MANUAL_PAGE = re.compile(r".*/man\d/[^/]+\.\d\w*")
# The endings that stay. A file with any other ending also gets the ending ".txt".
_SUFFIXES = (".txt", ".html", ".htm", ".pdf", ".rst")


class Package(TypedDict, total=False):
    """A pinned package, and the files that are taken from it."""

    # Its name.
    package: str
    version: str
    # The SHA-256 of its .deb file, in hexadecimal digits.
    sha256: str
    # Patterns of the paths to take.
    take: list[str]
    # The target folder.
    folder: str


def read_packages(name: str) -> list[Package]:
    """Read a list of pinned packages.

    :param name: The name of the list, such as "packages.json".
    :returns: The packages. Each has its name, its version, the SHA-256 of its .deb file, the files to take, and perhaps
        a target folder.
    """
    packages: list[Package] = json.loads(Path(__file__).with_name(name).read_text("utf-8"))
    return packages


def find_package(package: Package, folder: Path) -> bytes:
    """Read a package's .deb file from a folder. If the file is missing, apt-get downloads it first.

    :param package: The package, as :func:`read_packages` returns it.
    :param folder: The folder of .deb files.
    :returns: The content of the file.
    :raises BadInput: If the file is missing and cannot be downloaded, or if its SHA-256 differs.
    """
    name = package["package"]
    version = package["version"]
    # A version may begin with an epoch, as in "2:1.0". File names on a mirror lack the epoch. apt-get writes it as
    # "2%3a1.0".
    _, _, without_epoch = version.rpartition(":")
    with_epoch = version.replace(":", "%3a")

    def find_files() -> list[Path]:
        """List the .deb files of the package in the folder."""
        return sorted([*folder.glob(f"{name}_{without_epoch}_*.deb"), *folder.glob(f"{name}_{with_epoch}_*.deb")])

    if not find_files() and shutil.which("apt-get"):
        command = ["apt-get", "download", f"{name}={version}"]
        subprocess.run(command, cwd=folder, check=False, capture_output=True, timeout=300)
    files = find_files()
    if not files:
        raise BadInput(f"{name} {version} is not in {folder}, and apt does not know it: put its .deb file there.")
    data = files[0].read_bytes()
    if hashlib.sha256(data).hexdigest() != package["sha256"]:
        raise BadInput(f"{files[0]} is not the pinned file, because its SHA-256 differs: delete it.")
    return data


def _read_members(deb: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file in a package.

    A package is an ar archive. It contains a tar archive with the files. Members of an ar archive begin at even
    offsets, after a header of 60 bytes.
    """
    # The archive begins with this line.
    start = len(b"!<arch>\n")
    while start < len(deb):
        header = deb[start : start + 60]
        name = header[:16]
        size = int(header[48:58])
        start += len(header)
        if name.startswith(b"data.tar"):
            with tarfile.open(fileobj=io.BytesIO(deb[start : start + size])) as archive:
                for member in archive:
                    file = archive.extractfile(member) if member.isfile() else None
                    if file is not None:
                        yield member.name.removeprefix("./"), file.read()
        padding = size % 2
        start += size + padding


def _format_manual_page(source: bytes) -> bytes:
    """Format a manual page as plain text, as `man` shows it in 80 columns."""
    command = ["groff", "-t", "-k", "-Tutf8", "-mandoc", "-P-cbou", "-rHY=0", "-rLL=78n"]
    return subprocess.run(command, input=source, capture_output=True, check=True, timeout=60).stdout


def write_package(package: Package, deb: bytes, folder: Path) -> int:
    """Unpack the wanted files of a package, and add missing endings to their names.

    :param package: The package, as :func:`read_packages` returns it.
    :param deb: The content of the .deb file.
    :param folder: The target folder.
    :returns: The number of files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    n_written = 0
    for member, content in _read_members(deb):
        is_wanted = any(fnmatch(member, pattern) for pattern in package["take"])
        if not content or not is_wanted:
            continue
        path = member.removesuffix(".gz")
        data = gzip.decompress(content) if member.endswith(".gz") else content
        if _MANUAL_PAGE.fullmatch(path):
            # A page that begins like this only names another page.
            if data.startswith(b".so "):
                continue
            data = _format_manual_page(data)

        name = PurePosixPath(path).name.replace(".rst.txt", ".rst")
        if not name.endswith(_SUFFIXES):
            name += ".txt"
        folder.joinpath(name).write_bytes(data)
        n_written += 1
    return n_written


def make_documents(
    folder: Annotated[Path, typer.Argument(help="A new folder for the documents.")],
    packages: Annotated[Path | None, typer.Option(help="The folder of .deb files; missing ones are added.")] = None,
    train: Annotated[bool, typer.Option(help="Make the documents for train.jsonl instead.")] = False,
    languages: Annotated[bool, typer.Option(help="Make the documents in six languages instead.")] = False,
) -> None:
    """Make the documents and check the questions against them."""
    debs = packages or folder.with_name(f"{folder.name}-packages")
    debs.mkdir(parents=True, exist_ok=True)

    package_list = "packages.json"
    question_sets = ["dev", "test"]
    if train:
        package_list = "packages_train.json"
        question_sets = ["train"]
    elif languages:
        package_list = "languages.json"
        question_sets = ["languages"]

    if train and languages:
        raise SystemExit("--train and --languages make different documents: choose one.")
    if folder.exists():
        raise SystemExit(f"{folder} exists already: name a new folder.")
    if not shutil.which("groff"):
        raise SystemExit("groff, which formats the manual pages, is missing: install it (groff-base on Debian).")
    missing_packages = _write_packages(package_list, debs, folder)
    if not languages:
        print(f"organisations: {write_organisations(folder / 'office', train)} files")

    questions = []
    for name in question_sets:
        questions += read_questions(name)
    faults = find_faults(questions, folder)
    print(*faults, f"{len(faults)} faults in the questions", sep="\n")
    raise typer.Exit(bool(faults or missing_packages))


def _write_packages(package_list: str, debs: Path, folder: Path) -> list[str]:
    """Write the files of all packages of a list, and return the names of the packages that cannot be had.

    A mirror drops old versions. The other documents are made all the same, and the check of the questions then lists
    those whose documents are missing.
    """
    missing_packages = []
    for package in read_packages(package_list):
        target_folder = package.get("folder", f"manuals/{package['package']}")
        try:
            deb = find_package(package, debs)
        except BadInput as error:
            print(error)
            missing_packages.append(package["package"])
            continue
        n_written = write_package(package, deb, folder / target_folder)
        print(f"{package['package']} {package['version']}, {target_folder}: {n_written} files")
    return missing_packages


if __name__ == "__main__":
    typer.run(make_documents)
