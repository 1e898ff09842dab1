import os
from pathlib import Path

import pytest

from prefrag.components.prompts.render_prompt import PROMPTS, prompt_path, render_prompt
from tests.for_each import for_each


class TestFinding:
    @for_each("prompt", "nonsense", "", "/nowhere/own.jinja")
    def test_one_that_does_not_exist_is_named_with_those_that_do(self, prompt: str):
        with pytest.raises(ValueError, match=rf"No prompt '{prompt}'.*self_reflector"):
            prompt_path(prompt)


class TestFilling:
    @for_each("text", "{{ missing }}", "{% if %}", "{{ name.__class__.__mro__ }}")
    def test_a_mistake_in_it_is_reported_with_what_it_may_use(self, tmp_path: Path, text: str):
        own = tmp_path / "own.jinja"
        own.write_text(text)

        with pytest.raises(ValueError, match=r"own.jinja cannot be filled: .*It may use: name, question"):
            render_prompt(str(own), name="you", question="Who?")

    def test_an_own_prompt_is_filled_by_its_path(self, tmp_path: Path):
        assert prompt_path("reasoner_text") == PROMPTS / "reasoner_text.jinja"
        own = tmp_path / "own.jinja"
        own.write_text("{{ question }}")
        assert render_prompt(str(own), question="{{ 7 * 7 }} {% raw %}") == "{{ 7 * 7 }} {% raw %}"

        own.write_text("after")
        os.utime(own, ns=(1, 1))
        assert render_prompt(str(own), question="") == "after"


@for_each("prompt", *sorted(file.stem for file in PROMPTS.glob("*.jinja")))
def test_every_shipped_prompt_is_ascii_and_ends_without_blanks(prompt: str):
    text = prompt_path(prompt).read_text(encoding="utf-8")

    assert text.isascii()
    assert not any(line != line.rstrip() for line in text.splitlines())
