"""Work out what a run cost, from a table of prices."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, TypeAdapter, ValidationError

from prefrag.components.errors import BadInput, Missing

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]


@dataclass(frozen=True)
class ModelPrice:
    """The price of a model's tokens, in the table's currency."""

    prompt_per_million: Amount  # for a million tokens read
    completion_per_million: Amount  # for a million tokens written


@dataclass(frozen=True)
class Prices:
    """A table of prices. All amounts are in its currency, whatever that is."""

    models: dict[str, ModelPrice] = field(default_factory=dict)
    # The price of a thousand queries, by the name of the provider that the trace gives.
    search: dict[str, Amount] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        """Read a table of prices.

        :param table: ``{model: {"prompt_per_million": 0.15, "completion_per_million": 0.6}, ..., "search": {provider:
            price of a thousand queries}}``; ``search`` may be left out.
        :returns: The prices.
        :raises ValueError: When a price is missing, is not a number or is negative.
        """
        models = {name: entry for name, entry in table.items() if name != "search"}
        try:
            return TypeAdapter(cls).validate_python({"models": models, "search": table.get("search") or {}})
        except ValidationError as error:
            first = error.errors()[0]
            place = ", ".join(map(str, [part for part in first["loc"] if part != "models"]))
            raise ValueError(
                f"The price of {place} cannot be used ({first['msg']}): give a number that is not negative, for each "
                "model prompt_per_million and completion_per_million."
            ) from error

    def cost(self, results: Sequence[Mapping[str, Any]], model: str | None = None) -> dict[str, Any]:
        """Work out what runs cost.

        :param results: The results of the runs, at least one, also of those that failed.
        :param model: The model that was called; by default the only one of the table. A run counts the tokens of all
            its models together, so a judge of its own is charged as this one.
        :returns: ``llm``, ``search``, ``total`` and ``per_question``, and under ``unpriced`` what was used and has no
            price: with anything there, the amounts are lower bounds. A query counts when it left this machine and an
            outside provider answered it; 0 is a price.
        :raises ValueError: When the table names several models and none is chosen.
        """
        if model is None and len(self.models) > 1:
            raise ValueError(
                f"The prices name several models ({', '.join(sorted(self.models))}): name the one that was used."
            )
        model = model or next(iter(self.models), "the model")
        usage = [result.get("usage") or {} for result in results]
        prompt = sum(int(one.get("prompt_tokens") or 0) for one in usage)
        completion = sum(int(one.get("completion_tokens") or 0) for one in usage)
        queries = Counter(
            str(query["provider"])
            for result in results
            for query in result.get("queries_sent_out") or ()
            if query.get("provider")
        )
        price = self.models.get(model, ModelPrice(0.0, 0.0))
        llm = (prompt * price.prompt_per_million + completion * price.completion_per_million) / 1_000_000
        search = sum(self.search.get(provider, 0.0) * number / 1_000 for provider, number in queries.items())
        unpriced = [model] if prompt + completion and model not in self.models else []
        return {
            "llm": llm,
            "search": search,
            "total": llm + search,
            "per_question": (llm + search) / len(results),
            "unpriced": unpriced + sorted(set(queries) - set(self.search)),
        }


def read_prices(prices: Path | Mapping[str, Any]) -> Mapping[str, Any]:
    """Read a table of prices from its file."""
    if isinstance(prices, Mapping):
        return prices
    if not prices.is_file():
        raise Missing(f"There is no table of prices {prices}.")
    try:
        table = json.loads(prices.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadInput(f"The table of prices {prices} is not valid JSON: {error}") from error
    if not isinstance(table, dict):
        raise BadInput(f"The table of prices {prices} must be a JSON object, one entry a model.")
    return table
