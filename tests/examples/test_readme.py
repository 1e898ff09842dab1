import re
from collections.abc import Callable
from typing import Any

from tests.docs.markdown import CHECKOUT
from tests.examples.readme import commands
from tests.pipelines.scripted import answer

README = CHECKOUT / "examples" / "README.md"


def test_each_example_has_a_paragraph_and_a_command():
    folders = {path.parent.name for path in README.parent.glob("*/README.md")}
    linked = re.findall(r"^\*\*\[.+\]\((\w+)/README\.md\)\.\*\* .+$", README.read_text(), re.MULTILINE)

    assert set(linked) == folders
    assert len(commands(README)) == len(linked)


def test_the_commands(run: Callable[..., str], reply: Callable[..., Any]):
    reply('{"question": "Who designed the meters?"}', answer("Tobias Greaves"))

    printed = [run(command) for command in commands(README)]

    assert "4 tickets written" in printed[0]
    assert "Collection tickets: 4 passages written" in printed[1]
    assert "Answer: Tobias Greaves" in printed[3]
