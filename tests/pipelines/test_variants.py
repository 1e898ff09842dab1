"""The pipelines that are written from another one."""

from __future__ import annotations

import pytest

from prefrag.pipelines.loading import YAML_PIPELINES
from prefrag.pipelines.variants import table, text_of


def test_each_file_is_what_the_table_writes():
    stale = [name for name in table() if (YAML_PIPELINES / f"{name}.yaml").read_text("utf-8") != text_of(name)]

    assert stale == [], "run `make variants`"


@pytest.mark.parametrize("name", ["prefrag_dense", "prefrag_classifier"])
def test_a_file_says_what_it_comes_from_and_what_is_different(name: str):
    head = text_of(name).partition("\n\n")[0]

    assert f"from {table()[name]['base']}.yaml" in head.replace("\n# ", " ")
    assert all(path in head for path in table()[name]["replace"])
