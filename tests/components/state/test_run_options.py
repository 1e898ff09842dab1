"""The table of a run's options, and StateBuilder's inputs in plain Haystack."""

import pytest
from haystack import Pipeline

from prefrag.components.state.run_options import CHAT, REST, STATE, RunOptions, options_of, read_options
from prefrag.components.state.state_builder import StateBuilder
from prefrag.errors import BadInput
from tests.for_each import for_each


def test_every_option_has_a_sentence_and_a_way_to_be_given():
    assert [name for name, field in RunOptions.model_fields.items() if not field.description] == []
    assert RunOptions.model_fields.keys() == {*REST, *CHAT, *STATE}


def test_a_model_has_the_options_that_were_named_alone():
    schema = options_of(CHAT).model_json_schema()

    assert schema["properties"].keys() == set(CHAT)
    assert schema["additionalProperties"] is False


@for_each("given", {"source": ["local"]}, {"top_k": "3"}, {"top_k": True}, {"web": "off"}, {"stream": 1})
def test_unknown_or_mistyped_option_is_refused_by_its_name(given: dict[str, object]):
    name = next(iter(given))
    with pytest.raises(BadInput, match=f"There is no option {name} here|An option cannot be used: {name}: "):
        read_options(given, CHAT)


def test_plain_haystack_runs_the_component_with_the_same_options():
    pipeline = Pipeline()
    pipeline.add_component("start", StateBuilder(["local", "web"], "local"))
    pipeline = Pipeline.loads(pipeline.dumps())
    options = {"top_k": 2, "sources": ["local"], "history": [{"role": "user", "content": "Who built it?"}]}

    state = pipeline.run({"start": {"question": "And when?", **options}})["start"]["state"]

    assert pipeline.inputs()["start"].keys() == {"question", *STATE}
    assert (state.settings.top_k, state.settings.sources) == (2, ("local",))
    assert state.history == (("user", "Who built it?"),)
    with pytest.raises(ValueError, match="topk"):
        pipeline.run({"start": {"question": "And when?", "topk": 2}})
