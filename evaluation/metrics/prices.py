"""What a run cost, from a table of prices."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from prefrag.components.errors import BadInput, Missing


@dataclass(frozen=True)
class ModelPrice:
    """The price of a model's tokens, in the table's currency."""

    prompt_per_million: float  # for a million tokens read
    completion_per_million: float  # for a million tokens written


@dataclass(frozen=True)
class Prices:
    """A table of prices. All amounts are in its currency, whatever that is."""

    models: Mapping[str, ModelPrice] = field(default_factory=dict)
    # The price of a thousand queries, by the name of the provider that the trace gives.
    search: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        """Read a table of prices.

        :param table: ``{model: {"prompt_per_million": 0.15, "completion_per_million": 0.6}, ..., "search": {provider:
            price of a thousand queries}}``; ``search`` may be left out.
        :returns: The prices.
        :raises ValueError: When a price is missing, is no number or is negative.
        """
        search = _table(table.get("search") or {}, "search")
        return cls(
            models={str(name): _model_price(name, entry) for name, entry in table.items() if name != "search"},
            search={str(name): _amount(price, f"search, {name}") for name, price in search.items()},
        )

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
        raise BadInput(f"The table of prices {prices} is no JSON: {error}") from error
    if not isinstance(table, dict):
        raise BadInput(f"The table of prices {prices} must be a JSON object, one entry a model.")
    return table


def _model_price(name: str, entry: Any) -> ModelPrice:
    values = _table(entry, name)
    for key in ("prompt_per_million", "completion_per_million"):
        if key not in values:
            raise ValueError(f"The price of {name} lacks '{key}': give the price of a million tokens, or 0.")
    return ModelPrice(
        _amount(values["prompt_per_million"], f"{name}, prompt_per_million"),
        _amount(values["completion_per_million"], f"{name}, completion_per_million"),
    )


def _table(entry: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(entry, Mapping):
        raise ValueError(f"The prices of {name} are {entry!r}: give a table of numbers.")
    return entry


def _amount(value: Any, name: str) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0:
        raise ValueError(f"The price of {name} is {value!r}: give a number that is not negative.")
    return float(value)
