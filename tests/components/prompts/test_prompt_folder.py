"""`prompts` can be a mode, or a folder whose files are checked before anything runs."""

from pathlib import Path
from typing import Any

import pytest

from prefrag.components.prompts.prompt_folder import check_prompts, own_names, variables_of
from prefrag.components.prompts.render_prompt import PROMPTS, own_text, prompt_path, render_prompt
from tests.docs.markdown import CHECKOUT
from tests.for_each import for_each
from tests.own_prompts import write_prompts


class TestModes:
    @for_each("prompts", "product", "plain")
    def test_there_are_two_prompt_modes(self, prompts: str):
        check_prompts(prompts)

        assert prompt_path("reasoner_text", prompts) == PROMPTS / "reasoner_text.jinja"

    @for_each(
        "prompts, message",
        *((other, "set it to product, plain or a folder of prompts") for other in ("mine", "", None, True, ["plain"])),
        ("/nowhere", "set it to product, plain or a folder of prompts"),
        ("paper", "prompts is 'paper', which is now called plain: write plain, or the folder"),
    )
    def test_modes_are_few_and_the_former_name_is_refused(self, prompts: Any, message: str):
        with pytest.raises(ValueError, match=message):
            check_prompts(prompts)


class TestFolder:
    def test_a_folder_replaces_only_the_files_that_it_has(self, tmp_path: Path):
        (tmp_path / "README.md").write_text("From appendix B.2.")
        own = write_prompts(tmp_path)
        check_prompts(own)

        assert prompt_path("reasoner_text", own) == tmp_path / "reasoner_text.jinja"
        assert prompt_path("self_reflector", own) == PROMPTS / "self_reflector.jinja"

    def test_a_folder_with_its_own_passages_has_its_own_sentence(self, tmp_path: Path):
        own = write_prompts(tmp_path, closest_analysis="{{ quoted }}")

        assert render_prompt("closest_analysis", own).startswith("Passages, their titles, and the lines that begin")
        (tmp_path / "passage.jinja").unlink()
        assert render_prompt("closest_analysis", own).startswith("Titles, and the lines that begin with |")

    def test_a_folder_has_texts_only_if_it_has_their_files(self, tmp_path: Path):
        own = write_prompts(tmp_path, tool_description="{{ name }} finds.")
        check_prompts(own)

        assert own_text("tool_description", own, name="Search", description="ours") == "Search finds."
        assert own_text("answer_format", own, answer_type="short", answer_format="ours") is None
        assert own_text("answer_format", "plain", answer_type="short", answer_format="ours") is None
        (tmp_path / "tool_description.jinja").write_text("{{ name / 2 }}")
        with pytest.raises(ValueError, match="tool_description.jinja cannot be filled"):
            own_text("tool_description", own, name="Search", description="ours")

    @for_each("name", "reasoner.jinja", "reasoner_text.txt", "source_switch_question.jinja", "instructions.jinja")
    def test_a_folder_with_an_unknown_file_is_refused(self, tmp_path: Path, name: str):
        file = tmp_path / name
        file.write_text("Hello")

        with pytest.raises(
            ValueError, match=f"{name} is not a prompt: .* one of answer_confirmation.jinja, .*passage.jinja"
        ):
            check_prompts(str(tmp_path))
        file.unlink()

    @for_each(
        "name, text, message",
        ("reasoner_text", "{{ question }}\n{{ quesiton }}", "line 2: there is no variable 'quesiton', only answer"),
        ("source_switch_judge", "\n\n{{ observation }}", "line 3: there is no variable 'observation', only new, obs"),
        ("self_reflector", "{% if answer %}\n{% endfor %}", "line 2: .*endfor"),
        ("self_reflector", "{{ answer | shout }}", "line 1: No filter named 'shout'"),
        ("self_reflector", "\n{% include 'passage.jinja' %}", "line 2: a prompt may not use another file"),
        ("self_reflector", "{% from '/etc/passwd' import root %}", "line 1: a prompt may not use another file"),
        ("passage", "{{ content }}", "begins with the passage's own words"),
        ("passage", "title: {{ title }}\n  {{ content }}", "begins with the passage's own words"),
        ("passage", "content: {{ content|wordwrap(40) }}", "begins with the passage's own words"),
        ("passage", "{% if number > 1 %}{{ content }}{% else %}x {{ content }}{% endif %}", "begins with the"),
        ("passage", "x {{ 1 / 0 }}", "cannot be filled: division by zero"),
        ("passage", "title: {{ mark }}", "line 1: there is no variable 'mark', only content, number, quoted, title"),
        ("passage", "title: {{ title.name }}", "cannot be filled"),
    )
    def test_with_a_mistake_is_refused_with_file_and_line(self, tmp_path: Path, name: str, text: str, message: str):
        write_prompts(tmp_path, **{name: text})

        with pytest.raises(ValueError, match=rf"{name}\.jinja.*{message}"):
            check_prompts(str(tmp_path))
        (tmp_path / f"{name}.jinja").unlink()

    def test_that_is_empty_or_whose_file_is_not_in_utf8_is_refused(self, tmp_path: Path):
        with pytest.raises(ValueError, match="holds no prompt"):
            check_prompts(str(tmp_path))
        (tmp_path / "self_reflector.jinja").write_bytes(b"Pr\xc3\xbcfe:\nfr\xfcher\n")
        with pytest.raises(ValueError, match=r"self_reflector.jinja, line 2: the file is not written in UTF-8"):
            check_prompts(str(tmp_path))


def test_the_guide_has_each_file_and_its_variables():
    guide = (CHECKOUT / "docs" / "prompts.md").read_text().partition("## The variables of each file")[2]
    rows = [line.split("|") for line in guide.splitlines() if line.startswith("| `")]
    listed = {name: set(row[2].split("`")[1::2]) for row in rows for name in row[1].split("`")[1::2]}

    for name in own_names():
        assert listed.get(name, listed["reasoner"]) == variables_of(name), name
