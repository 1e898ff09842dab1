"""Write the tables of docs/configuration.md from the table of settings: ``make docs``."""

import re
from typing import Any

from prefrag.settings import SECTIONS, ModelSettings, _allowed
from tests.docs.markdown import CHECKOUT

GUIDE = CHECKOUT / "docs" / "configuration.md"
_HEAD = "| variable | what it may be | what it sets | default |\n|---|---|---|---|\n"


def write_tables(guide: str) -> str:
    """The guide, with the first table under each heading rewritten."""
    for heading, table in SECTIONS.items():
        rows = _rows(ModelSettings, "PREFRAG_LLM_", "PREFRAG_JUDGE_") if heading == "Models" else []
        lines = "".join([_HEAD, *rows, *_rows(table, "PREFRAG_")])
        before, end, after = guide.partition(f"## {heading}\n\n")
        guide = before + end + re.sub(r"\A(\|.*\n)+", lines.replace("\\", r"\\"), after)
    return guide


def _rows(table: Any, *prefixes: str) -> list[str]:
    rows = []
    for name, field in table.model_fields.items():
        variables = (
            [field.validation_alias] if field.validation_alias else [prefix + name.upper() for prefix in prefixes]
        )
        said, default = field.description, field.json_schema_extra["shown"] or _show(field.default)
        rows.append(
            f"| {', '.join(f'`{variable}`' for variable in variables)} | {_allowed(field)} | {said} | {default} |\n"
        )
    return rows


def _show(default: Any) -> str:
    if isinstance(default, bool):
        return "`on`" if default else "`off`"
    return (
        f"`{default}`" if isinstance(default, str) else f"{default:g}" if isinstance(default, float) else str(default)
    )


if __name__ == "__main__":
    GUIDE.write_text(write_tables(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
