"""The documentation lists the settings, and the code reads no others."""

import re

from tests.docs.markdown import CHECKOUT, GUIDES
from tests.docs.settings_tables import GUIDE, write_tables
from tests.docs.variables import settings

CODE = ("cli", "components", "evaluation", "indexing", "pipelines", "prefrag", "server", "training", "hayhooks")
_VARIABLE = re.compile(r"PREFRAG_[A-Z]+(?:_[A-Z]+)*")


def test_the_tables_of_the_guide_are_those_of_the_settings():
    guide = GUIDE.read_text(encoding="utf-8")

    assert write_tables(guide) == guide, "make docs writes them anew"


def test_neither_the_code_nor_the_guides_name_another_variable():
    files = [file for folder in CODE for file in (CHECKOUT / folder).rglob("*.py")]
    files += [*(CHECKOUT / "yaml_pipelines").glob("*.yaml"), *GUIDES]
    named = {name for file in files for name in _VARIABLE.findall(file.read_text(encoding="utf-8"))}

    others = named - settings() - {"PREFRAG_LLM", "PREFRAG_JUDGE"}
    assert [name for name in others if not name.startswith("PREFRAG_TEST")] == []
