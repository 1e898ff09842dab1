"""The commands of a README."""

from pathlib import Path

from tests.docs.markdown import fenced


def commands(file: Path) -> list[str]:
    """The commands in the fenced blocks; lines that end with a backslash are joined."""
    lines = "".join(fenced(file.read_text(encoding="utf-8"))).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip()]
