"""The variables that the settings read."""

from prefrag.settings import Settings, _variable_of, models


def settings() -> set[str]:
    tables = (Settings, *(model._table for model in models.values()))  # type: ignore[attr-defined]
    names = {_variable_of(table, name) for table in tables for name in table.model_fields}
    return names | {f"{name}_FILE" for name in names if "_API_KEY" in name}
