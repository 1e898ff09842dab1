import contextlib
import importlib.util
import json
import time
from pathlib import Path

import pytest

from prefrag.components.state.places import place_of
from prefrag.indexing import file_conversion
from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.file_forms import FORMS, PDF
from prefrag.indexing.readers import html_files
from prefrag.indexing.report import CannotRead
from tests.for_each import for_each
from tests.indexing.pdfs import make_pdf


def _needs(*packages: str) -> pytest.MarkDecorator:
    absent = [package for package in packages if importlib.util.find_spec(package) is None]
    return pytest.mark.skipif(bool(absent), reason=f"the extra 'files' is not installed ({', '.join(absent)})")


needs_markdown = _needs("markdown_it", "mdit_plain")
needs_html = _needs("trafilatura", "lxml_html_clean")
needs_pdf = _needs("pypdfium2")


@pytest.fixture(scope="module")
def converter() -> FileConverter:
    return FileConverter()


def test_text_is_titled_by_its_file_and_its_id_by_path_and_text(converter: FileConverter) -> None:
    [passage] = converter.passages(Path("/notes/Vienna.txt"), b"A  square\tin Vienna.\n")

    assert (passage.content, passage.meta["title"]) == ("A square in Vienna.", "Vienna")
    assert passage.meta["file_path"] == "/notes/Vienna.txt"
    assert "page_number" not in passage.meta
    assert passage.id == converter.passages(Path("/notes/Vienna.txt"), b"A  square\tin Vienna.\n")[0].id
    assert passage.id != converter.passages(Path("/notes/Graz.txt"), b"A  square\tin Vienna.\n")[0].id
    assert passage.id != converter.passages(Path("/notes/Vienna.txt"), b"A square in Graz.\n")[0].id


def test_the_passages_of_a_file_are_numbered(converter: FileConverter) -> None:
    passages = converter.passages(Path("/a.txt"), b"One sentence of six words stands. " * 100)

    assert [passage.meta["split_id"] for passage in passages] == list(range(len(passages)))
    assert {passage.meta["split_count"] for passage in passages} == {len(passages)}
    assert len({passage.id for passage in passages}) == len(passages) > 3


def test_name_and_text_have_whole_letters_and_the_path_is_as_is(converter: FileConverter) -> None:
    path = Path("/notes/Ko\u0308penick.txt")

    [passage] = converter.passages(path, "A Bru\u0308cke and an o\ufb03ce.".encode())

    assert passage.content == "A Br\u00fccke and an office."
    assert (passage.meta["title"], passage.meta["file_path"]) == ("K\u00f6penick", str(path))


@needs_markdown
def test_links_between_notes_are_the_names_of_the_notes(converter: FileConverter) -> None:
    text = b"See [[ships/Dove#Keel|her keel]], [[Cork]] and ![[plan.png]], not `[[a]]`, [[0]] or [[ -f a ]].\n\n```\n[[b]]\n```"

    [passage] = converter.passages(Path("/yard.md"), text)

    assert passage.content == "See her keel (Dove), Cork and , not [[a]], [[0]] or [[ -f a ]].\n[[b]]"


@needs_markdown
@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# The *first* heading\n\nText.\n\n# Second", "The first heading"),
        ("Text first.\n\nUnderlined\n==========\n\nMore.", "Underlined"),
        ("```\n# a comment in code\n```\n\n## Real `name`\n\nText.", "Real name"),
        ("---\ntitle: From the front\ntags: [a]\n---\n# Heading\n\nText.", "From the front"),
        ("No heading at all.", "notes"),
    ],
)
def test_a_markdown_file_is_titled_by_its_first_heading(converter: FileConverter, text: str, title: str) -> None:
    assert converter.passages(Path("/notes.md"), text.encode())[0].meta["title"] == title


@needs_markdown
def test_passages_of_markdown_know_their_headings_unlike_text(converter: FileConverter) -> None:
    text = f"---\nheading: forged\n---\n# Manual\n\n## Use\n\n{'Oil it. ' * 60}\n\n## Care\n\n{'Dry it. ' * 60}"

    passages = converter.passages(Path("/a.md"), text.encode())

    assert [passage.meta["heading"] for passage in passages] == ["Manual > Use", "Manual > Care"]
    assert (passages[0].content or "").startswith("heading: forged\nManual\nUse\nOil it.")
    assert passages[0].meta["section_starts"] == "0 \n15 Manual\n22 Manual > Use"
    assert "heading" not in converter.passages(Path("/a.txt"), text.encode())[0].meta
    assert "heading" not in converter.passages(Path("/a.md"), b"---\ntitle: A\n---\nText.")[0].meta


@needs_html
def test_passages_of_a_page_know_the_headings_above_them(converter: FileConverter) -> None:
    sections = "".join(
        f"<h2 class='section'>{name}</h2><p>{f'The {name.lower()} of the pump is here. ' * 15}</p>"
        for name in ("Use", "Care")
    )

    passages = converter.passages(Path("/a.html"), f"<html><body><h1>Manual</h1>{sections}</body></html>".encode())

    assert [passage.meta["heading"] for passage in passages] == ["Manual > Use", "Manual > Care"]
    assert "\u205c" not in "".join(passage.content or "" for passage in passages)


@needs_markdown
def test_front_matter_becomes_text_and_metadata_but_no_identity(converter: FileConverter) -> None:
    front = "author: Ada\nyear: 1843\nfile_path: /etc\nid: x\ncontent: y\nsource: web"
    [passage] = converter.passages(
        Path("/notes.md"), f"---\ntitle: T\n{front}\nnested: {{a: 1}}\ntags: [b, c]\n---\nText.".encode()
    )

    assert passage.content == f"{front}\nnested a: 1\ntags: b, c\nText."
    assert {key: passage.meta.get(key) for key in ("author", "year")} == {"author": "Ada", "year": 1843}
    assert passage.meta["file_path"] == "/notes.md"
    assert not {"id", "content", "source", "nested", "encoding"} & passage.meta.keys()


def _bomb(levels: int) -> str:
    lists = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(["---", "a0: &a0 [lol]", *lists, f"title: *a{levels - 1}", "---", "Only text."])


@for_each(
    "front",
    'title: "\\ud800"',
    'note: "\\ud800"',
    '"\\ud800": note',
    "number: 99999999999999999999",
    "number: 0x" + "f" * 5_000,
)
def test_front_matter_that_no_index_can_store_is_left_out(converter: FileConverter, front: str) -> None:
    passage = converter.passages(Path("/notes.md"), f"---\n{front}\n---\n# Heading\n\nText.".encode())[-1]

    json.dumps(passage.to_dict(), ensure_ascii=False).encode()
    assert not {"note", "number"} & passage.meta.keys()


@needs_markdown
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_front_matter_with_aliases_is_text_and_is_not_expanded(converter: FileConverter, mark: str) -> None:
    before = time.process_time()

    passages = converter.passages(Path("/notes.md"), f"{mark}{_bomb(9)}".encode())

    assert time.process_time() - before < 5
    assert "Only text." in (passages[-1].content or "")
    # Haystack 3 adds the position of a passage in the text.
    own = passages[0].meta.keys() - {"split_idx_start"}
    places = {"file_path", "folder", "file_name", "kind"}
    assert own - {"heading"} == {"title", *places, "file_hash", "file_size", "split_id", "split_count"}


@needs_markdown
@pytest.mark.parametrize(
    "front",
    [
        f"tags: {'[' * 3_000}{']' * 3_000}",
        f"tags: {'[' * 190}{']' * 190}",
        "- " * 4_900,
        "words: " + "x " * 20_000,
        "\n".join(f"key{number}: {number}" for number in range(5_000)),
        "broken: [",
        "a: *nothing",
    ],
    ids=lambda front: front[:12],
)
def test_front_matter_that_is_large_deep_or_broken_ends_soon(converter: FileConverter, front: str) -> None:
    before = time.process_time()

    with contextlib.suppress(CannotRead):
        converter.passages(Path("/notes.md"), f"---\n{front}\n---\nText.".encode())

    assert time.process_time() - before < 2


@needs_html
@pytest.mark.parametrize(
    "page",
    ["<title>" * 30_000, "<title " * 30_000, "<h1>" + "<" * 50_000 + "</h1>", "<title>x</title" + " " * 50_000],
    ids=lambda page: page[:12],
)
def test_a_page_full_of_openings_has_its_title_found_soon(page: str) -> None:
    before = time.process_time()

    html_files.html_title(page)

    assert time.process_time() - before < 2


def test_page_without_text_leaves_no_message_without_file_name(
    converter: FileConverter, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(CannotRead, match="no text in it"):
        converter.passages(Path("/a.txt"), "\u200b\u00a0\x0b\x0c".encode().replace("\u200b".encode(), b""))

    assert caplog.records == []


@needs_html
def test_a_web_page_gives_its_title_and_its_text(converter: FileConverter) -> None:
    page = (
        "<html><head><meta charset=iso-8859-1><title>Caf\u00e9s &amp; squares</title><script>no()</script></head>"
        "<body><h1>Heading</h1><p>The caf\u00e9 stands on a square of the old town.</p></body></html>"
    )
    [passage] = converter.passages(Path("/page.html"), page.encode("latin-1"))

    assert passage.meta["title"] == "Caf\u00e9s & squares"
    assert "The caf\u00e9 stands on a square" in (passage.content or "")
    assert "no()" not in (passage.content or "")


@needs_html
@pytest.mark.parametrize("declaration", ["", "<meta charset=nonsense>", "<meta charset=utf-8>"])
def test_a_page_that_declares_no_encoding_or_a_wrong_one_is_read(converter: FileConverter, declaration: str) -> None:
    page = (
        f"<html><head>{declaration}</head><body><p>The caf\u00e9 stands on a square of the old town.</p></body></html>"
    )

    [passage] = converter.passages(Path("/page.html"), page.encode("latin-1"))

    assert passage.content == "The caf\u00e9 stands on a square of the old town."


def test_a_table_gives_passages_of_whole_rows(converter: FileConverter) -> None:
    rows = [f"Person {number};One sentence. Another one, with a comma" for number in range(60)]

    passages = converter.passages(Path("/people.csv"), "\n".join(["name;note", *rows]).encode("cp1252"))

    lines = [line for passage in passages for line in (passage.content or "").split("\n")]
    assert lines == [f"name: {row.replace(';', '; note: ')}" for row in rows]
    assert len(passages) < 10
    assert {passage.meta["kind"] for passage in passages} == {"csv"}


@needs_pdf
def test_pdf_gives_its_title_and_the_page_of_its_passages(converter: FileConverter) -> None:
    pages = [f"Page {name} begins. " + "This page says a thing. " * 25 for name in ("one", "two", "three")]
    passages = converter.passages(Path("/paper.pdf"), make_pdf(pages, title="On Pages"))

    assert {passage.meta["title"] for passage in passages} == {"On Pages"}
    assert [passage.meta["page_number"] for passage in passages] == [1, 2, 3]
    assert "Page two begins." in str(passages[0].content)


@needs_pdf
def test_a_passage_of_several_pages_tells_where_each_begins(converter: FileConverter) -> None:
    pages = ["The lock is old.", "", "It has a keeper.", "The number of the lock is 555."]
    [passage] = converter.passages(Path("/paper.pdf"), make_pdf(pages))

    pages_of = {word: place_of(passage, (passage.content or "").index(word)) for word in ("lock", "It", "555")}
    assert pages_of == {"lock": {"page": 1}, "It": {"page": 3}, "555": {"page": 4}}


@needs_pdf
def test_lines_and_words_that_the_paper_broke_are_joined(converter: FileConverter) -> None:
    [passage] = converter.passages(Path("/paper.pdf"), make_pdf(["The exam-\nple goes over\nthree lines."]))

    assert passage.content == "The example goes over three lines."


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b"", "empty"),
        ("a.txt", b" \n\t ", "empty"),
        ("a.txt", b"\xff\xd8\xe0\x01\x02\x03\x81\x9d", "not text, or its encoding cannot be determined"),
        ("a.txt", b"one\0two", "not text"),
        ("a.csv", b"name,note\nAda,\0\n", "zero bytes"),
        pytest.param("a.md", b"\xff\xfe\x00", "not UTF-16 text", marks=needs_markdown),
        pytest.param("a.md", b"[//]: # (only a comment)\n", "no text in it", marks=needs_markdown),
        pytest.param("a.html", b"<html><body></body></html>", "no text in it", marks=needs_html),
        ("a.json", b"{broken", "not JSON"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(
    converter: FileConverter, name: str, data: bytes, reason: str
) -> None:
    with pytest.raises(CannotRead, match=reason):
        converter.passages(Path("/") / name, data)


def test_missing_package_is_named_with_the_command_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMS, PDF, FORMS[PDF]._replace(package="a_package_that_nobody_has"))
    converter = FileConverter()

    with pytest.raises(CannotRead, match=r'pip install "prefrag\[files\]"'):
        converter.passages(Path("/a.pdf"), make_pdf(["Text."]))
    assert converter.passages(Path("/a.txt"), b"Text.")


@needs_pdf
def test_too_many_levels_are_said_so_by_whatever_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("maximum recursion depth exceeded")

    monkeypatch.setitem(file_conversion._BYTE_READERS, PDF, fail)

    with pytest.raises(CannotRead, match="^it is nested too deeply$"):
        FileConverter().passages(Path("/a.pdf"), b"%PDF")


def test_a_file_named_as_a_draft_of_another_is_a_draft(tmp_path: Path):
    content = b"The bouncy castle costs 180 euros."
    for name in ("castle.txt", "castle draft.txt", "tent draft.txt"):
        (tmp_path / name).write_bytes(content)

    def standing(name: str) -> object:
        return FileConverter().passages(tmp_path / name, content)[0].meta.get("standing")

    assert [standing(name) for name in ("castle.txt", "castle draft.txt", "tent draft.txt")] == [None, "draft", None]
    assert FileConverter().passages(tmp_path / "gone" / "castle draft.txt", content)[0].meta.get("standing") is None
