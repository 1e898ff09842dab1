"""The pipelines that are derived from another one."""

from typing import Any

from prefrag.pipelines.loading import YAML_PIPELINES, find, read_block
from prefrag.pipelines.variants import table, text_of
from tests.for_each import for_each

LOCAL = {"local", "local_again"}
CHOOSES = {"reasoner", "router", "judge", "forced", "to_local", "to_web"}
# Components of the base that a variant replaces or drops.
DIFFERENT = {
    "prefrag_dense": LOCAL,
    "prefrag_hybrid": LOCAL,
    "prefrag_linked": LOCAL,
    "prefrag_patient": {"judge", "recorder", "reflector"},
    "prefrag_classifier": {"judge"},
    "prefrag_elasticsearch": {*LOCAL, "web", "web_again", "judge"},
    "prefrag_elasticsearch_dense": LOCAL,
    "prefrag_elasticsearch_hybrid": LOCAL,
    "prefrag_direct": CHOOSES,
    "prefrag_without_preference": {"reasoner", "forced"},
    "prefrag_without_reflection": {
        "start",
        "reasoner",
        "forced",
        "reflector",
        *LOCAL,
        "web_again",
        "supplement_recorder",
    }
    - {"local"},
    "prefrag_three_sources": {
        "start",
        "reasoner",
        "router",
        "judge",
        "forced",
        "archive",
        "archive_again",
        "to_archive",
    },
    "mspr_linked": {"local"},
    "react_mix": {"reasoner", "router", "recorder", "forced", "found"},
    "dr_rag_cfs": {"second_stage"},
    "dr_rag_cfs_analysis": {"reasoner"},
    "dr_rag_qdc": {"second_stage"},
    **{f"dr_rag_{name}_dense": {"local", "second_stage"} for name in ("cis", "cfs", "qdc")},
    "vanilla_local_dense": {"local"},
    "adaptive_retrieval": {"popularity", "read"},
}


def components(name: str) -> dict[str, Any]:
    return dict(read_block(find(name))["components"])


def test_each_file_is_what_the_table_writes():
    stale = [name for name in table() if (YAML_PIPELINES / f"{name}.yaml").read_text("utf-8") != text_of(name)]

    assert stale == [], "run `make variants`"


def test_they_differ_from_their_base_in_these_components_alone():
    differences = {}
    for name, variant in table().items():
        own, base = components(name), components(variant["base"])
        differences[name] = {part for part in own.keys() | base.keys() if own.get(part) != base.get(part)}
        same = read_block(find(name))["connections"] == read_block(find(variant["base"]))["connections"]
        assert same is ("connections" not in variant["replace"])

    assert differences == DIFFERENT


@for_each("name", "prefrag_dense", "prefrag_classifier")
def test_a_file_says_what_it_comes_from_and_what_is_different(name: str):
    head = text_of(name).partition("\n\n")[0]

    assert f"from {table()[name]['base']}.yaml" in head.replace("\n# ", " ")
    assert all(path in head for path in table()[name]["replace"])
