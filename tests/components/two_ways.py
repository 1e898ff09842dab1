"""Run a component in both ways, which must give the same."""

from typing import Any

import pytest


async def both_fail(part: Any, error: type[Exception], message: str, *arguments: Any, **named: Any) -> None:
    with pytest.raises(error, match=message):
        part.run(*arguments, **named)
    with pytest.raises(error, match=message):
        await part.run_async(*arguments, **named)


async def both_give(part: Any, *arguments: Any, **named: Any) -> dict[str, Any]:
    output: dict[str, Any] = part.run(*arguments, **named)
    assert await part.run_async(*arguments, **named) == output
    return output
