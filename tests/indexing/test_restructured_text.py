"""reStructuredText."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.headings import Outline
from prefrag.indexing.restructured_text import read_rst

pytest.importorskip("docutils", reason="the extra 'files' is not installed")

MANUAL = """\
======
Manual
======

:Author: Ada

Read *this* ``first``, then [1]_.

Installation
------------

- one
- two

screw
   A thing that turns.

==== ======
Name City
==== ======
Ada  London
==== ======

.. code-block:: python

   print(1)

.. versionadded:: 3.1
   Only Sphinx knows this directive.

.. [1] A footnote.
"""


def _read(text: str) -> str:
    outline = Outline()
    return outline.read(read_rst(text, outline))[0]


def test_marks_go_and_words_stay() -> None:
    assert _read(MANUAL).split("\n\n") == [
        "Manual",
        "Author: Ada",
        "Read this first, then 1.",
        "Installation",
        "- one\n- two",
        "screw: A thing that turns.",
        "Name: Ada; City: London",
        "print(1)",
        ".. versionadded:: 3.1\n   Only Sphinx knows this directive.",
        "A footnote.",
    ]


def test_a_file_has_its_title_and_its_headings() -> None:
    [passage] = FileConverter().passages(Path("/manual.rst"), MANUAL.encode())

    assert passage.meta["title"] == "Manual"
    assert passage.meta["heading"] == "Manual > Installation"
    assert passage.meta["kind"] == "rst"


@pytest.mark.parametrize(
    "directive",
    [
        ".. include:: {}",
        ".. literalinclude:: {}",
        ".. raw:: html\n   :file: {}",
        ".. raw:: html\n   :url: file://{}",
        ".. csv-table:: T\n   :file: {}",
        ".. csv-table:: T\n   :url: file://{}",
        ".. figure:: {}",
        ".. |x| replace:: y\n.. include:: {}\n   :literal:",
        ".. code-block:: python\n   :file: {}",
    ],
)
def test_no_other_file_is_taken_in(directive: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("PASSWORD,HUNTER2\n")

    assert "HUNTER2" not in _read(f"Before.\n\n{directive.format(secret)}\n\nAfter.")


def test_a_configuration_beside_the_file_is_not_obeyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docutils.conf").write_text("[general]\nfile_insertion_enabled: yes\nraw_enabled: yes\n")
    (tmp_path / "secret.txt").write_text("HUNTER2")
    monkeypatch.chdir(tmp_path)

    assert "HUNTER2" not in _read(".. include:: secret.txt\n\nText.")


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(
            [
                *(f".. |a{n}| replace:: {f'|a{n - 1}| ' * 9}" for n in range(1, 12)),
                ".. |a0| replace:: lol",
                "",
                "|a11| end",
            ]
        ),
        "\n".join("  " * depth + "- x end" for depth in range(400)),
        "x " * 20_000 + "end",
        "*" * 9_000 + "end",
    ],
    ids=["substitutions", "lists", "a long line", "stars"],
)
def test_what_cannot_be_parsed_is_text(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = time.process_time()

    assert "end" in _read(text)

    assert time.process_time() - before < 20
    assert capsys.readouterr() == ("", "")


@settings(deadline=None)
@given(st.text(alphabet="ab *`_|.:-=~\n\t<>[]\\"))
def test_any_text_is_read(text: str) -> None:
    _read(text)
