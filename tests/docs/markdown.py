"""The Markdown files of the project, and their contents."""

import re
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
_ELSEWHERE = {"build", "node_modules", "prefrag", "runs"}
GUIDES = [
    *(CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    # The history has names that are gone.
    *sorted(set((CHECKOUT / "docs").rglob("*.md")) - {CHECKOUT / "docs" / "history.md"}),
]
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def markdown_files() -> list[Path]:
    """All Markdown files by folder, without `prefrag/`, which holds links to these folders."""
    files = []
    for file in sorted(CHECKOUT.rglob("*.md")):
        first = file.relative_to(CHECKOUT).parts[0]
        if first not in _ELSEWHERE and not first.startswith("."):
            files.append(file)
    return files


def prose(text: str) -> str:
    """A text without fenced blocks."""
    return FENCE.sub("", text)


def fenced(text: str, language: str = "") -> list[str]:
    """The fenced blocks in a language; blocks without one count as commands."""
    return [match["text"] for match in FENCE.finditer(text) if match["language"] == language]


def spans(text: str) -> list[str]:
    """The texts between single backticks."""
    return re.findall(r"`([^`\n]+)`", prose(text))


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives the headings."""
    slugs: dict[str, int] = {}
    names = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", prose(text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = slugs.get(slug, 0)
        slugs[slug] = number + 1
        names.add(f"{slug}-{number}" if number else slug)
    return names
