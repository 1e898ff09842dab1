"""The statements of a Python file."""

import ast
from collections.abc import Iterator


def statements(code: str) -> Iterator[ast.AST]:
    """Yield each statement, also inside functions, but not the expressions in it."""
    inside: list[ast.AST] = [ast.parse(code)]
    while inside:
        yield (node := inside.pop())
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inside += getattr(node, field, ())
