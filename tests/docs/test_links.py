"""Every link between the Markdown files leads somewhere."""

import re
from pathlib import Path

from tests.docs.markdown import CHECKOUT, GUIDES, anchors, markdown_files, prose
from tests.for_each import for_each

_LINK = re.compile(r"\[[^\]]*\]\(<?(?P<target>[^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_OTHER_SITE = re.compile(r"[a-z][a-z+.-]*:", re.IGNORECASE)


def broken_links(file: Path) -> list[str]:
    broken = []
    for match in _LINK.finditer(re.sub(r"`[^`\n]*`", "", prose(file.read_text(encoding="utf-8")))):
        target = match["target"]
        if _OTHER_SITE.match(target):
            continue
        path, _, anchor = target.partition("#")
        to = (file.parent / path).resolve() if path else file
        is_there = to.exists() and to.is_relative_to(file.parents[-2])
        if not is_there or (anchor and anchor not in anchors(to.read_text(encoding="utf-8"))):
            broken.append(target)
    return broken


@for_each("file", *[str(file.relative_to(CHECKOUT)) for file in markdown_files()])
def test_the_links_of_a_file_resolve(file: str):
    assert broken_links(CHECKOUT / file) == []


def test_a_link_or_an_anchor_that_leads_nowhere_is_found(tmp_path: Path):
    (tmp_path / "other.md").write_text("# Some `code` and more\n```\n# no heading\n```\n")
    links = "[a](other.md) [b](other.md#some-code-and-more) [c](absent.md) [d](other.md#no-heading) [e](#here) `[f](x)`"
    (tmp_path / "one.md").write_text(f"# There\n{links} [g](https://example.org)\n```\n[h](y)\n```\n")

    assert broken_links(tmp_path / "one.md") == ["absent.md", "other.md#no-heading", "#here"]


def test_the_readme_stays_short():
    assert len((CHECKOUT / "README.md").read_text(encoding="utf-8").splitlines()) < 120


@for_each("file", *GUIDES)
def test_no_placeholder_is_left(file: Path):
    assert re.findall(r"@[A-Z]{2,}@", file.read_text(encoding="utf-8")) == []
