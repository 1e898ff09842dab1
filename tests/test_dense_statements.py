"""A statement does one thing, so that it is read once. The count of those that do several may only fall."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.for_each import for_each
from tests.statements import statements

CHECKOUT = Path(__file__).parent.parent
PRODUCT = ("cli", "components", "evaluation", "indexing", "pipelines", "prefrag", "server", "training")
# Of every 1,000 lines. Lower it when the count has fallen. Haystack 2.31, counted the same way, has 3.7.
MOST_OF_THOUSAND = 3.3

MOST_NODES, MOST_NODES_AROUND_LAMBDA, MOST_CONDITIONS = 30, 22, 3
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_STEPS = {*COMPREHENSIONS, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Lambda}
_SIGNS = (ast.expr_context, ast.operator, ast.boolop, ast.cmpop, ast.unaryop)


def expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield a statement and the expressions in it, but not the statements in its body."""
    inside: list[ast.AST] = [statement]
    while inside:
        node = inside.pop()
        yield node
        inside += [
            child for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.stmt, ast.excepthandler))
        ]


def is_dense(statement: ast.stmt) -> bool:
    """Check whether a statement takes several steps at once."""
    nodes = list(expressions(statement))
    # Most statements are told by this.
    if len(nodes) <= MOST_NODES and {type(node) for node in nodes}.isdisjoint(_STEPS):
        return False
    size = sum(not isinstance(node, _SIGNS) for node in nodes)
    comprehensions = sum(isinstance(node, COMPREHENSIONS) for node in nodes)
    choices = sum(isinstance(node, ast.IfExp) for node in nodes)
    conditions = sum(len(node.values) for node in nodes if isinstance(node, ast.BoolOp))
    has_walrus = any(isinstance(node, ast.NamedExpr) for node in nodes)
    has_lambda = any(isinstance(node, ast.Lambda) for node in nodes)
    return (
        size > MOST_NODES
        or comprehensions > 1
        or choices > 1
        or bool(comprehensions and choices)
        or bool(has_walrus and conditions)
        or conditions > MOST_CONDITIONS
        or (has_lambda and size > MOST_NODES_AROUND_LAMBDA)
    )


def is_counted(statement: ast.AST) -> bool:
    """Leave out imports, what has a body of its own, and tables at the top of a module."""
    skipped = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    if not isinstance(statement, ast.stmt) or isinstance(statement, skipped):
        return False
    is_at_top = statement.col_offset == 0
    tables = (ast.Dict, ast.Tuple, ast.List, ast.Set)
    return not (is_at_top and isinstance(getattr(statement, "value", None), tables))


def dense_lines(code: str) -> list[int]:
    """List the lines in which a dense statement begins."""
    counted = [statement for statement in statements(code) if is_counted(statement)]
    return sorted(statement.lineno for statement in counted if is_dense(statement))


def test_statements_that_do_several_things_only_become_fewer():
    places, lines = [], 0
    for folder in PRODUCT:
        for file in sorted((CHECKOUT / folder).rglob("*.py")):
            code = file.read_text(encoding="utf-8")
            lines += len(code.splitlines())
            places += [f"{file.relative_to(CHECKOUT)}:{line}" for line in dense_lines(code)]

    assert 1_000 * len(places) / lines <= MOST_OF_THOUSAND, f"take their steps one by one: {places}"


@for_each(
    "code, is_told",
    ("total = sum(values) / len(values)", False),
    ("names = [name for name in names if name]", False),
    ("best = first if first else last", False),
    ("names = [name.title() if name else '' for name in names]", True),
    ("pairs = {name: [value for value in values] for name in names}", True),
    ("best = first if first else last if last else None", True),
    ("if a and b or (c and d):\n    pass", True),
    ("if (match := find(text)) and match[1]:\n    pass", True),
    ("if a and b:\n    if c and d:\n        pass", False),
    (
        "def run():\n    return dict(zip(map(f, a), map(g, b), strict=True)), sorted(c, key=lambda d: (d.e, d.f, d.g))",
        True,
    ),
    ("TABLE = {'a': [f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11)]}", False),
)
def test_a_dense_statement_is_told_by_its_form(code: str, is_told: bool):
    assert bool(dense_lines(code)) == is_told
