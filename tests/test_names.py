"""A variable is named by a noun, and a test by a few words. The counts of other names may only fall."""

import ast
import re
from collections import Counter
from pathlib import Path

from tests.for_each import for_each

CHECKOUT = Path(__file__).parent.parent
PRODUCT = ("cli", "components", "evaluation", "indexing", "pipelines", "prefrag", "server", "training")
# These words point at a thing and do not say what it is.
POINTERS = ("one", "each", "found", "held", "given", "kept", "known")
LONGEST_NAME = 60
# Parsing all files takes seconds. So only files are parsed whose text may have a name that is counted.
MAY_COUNT = re.compile(
    rf"\b(?:{'|'.join(POINTERS)})\s*(?:[=,:)\]+*/%@&|^<>-]|in\b|$)|:=|def test_\w{{{LONGEST_NAME - 4},}}", re.MULTILINE
)


def count(code: str) -> Counter[str]:
    """Count the variables and parameters that are named by a pointer, the walruses, and the long names of tests."""
    counts: Counter[str] = Counter()
    if not MAY_COUNT.search(code):
        return counts
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                counts["pointers"] += name in POINTERS
            case ast.NamedExpr():
                counts["walruses"] += 1
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                counts["long names of tests"] += name.startswith("test_") and len(name) > LONGEST_NAME
    return counts


# Lower a number when its count has fallen.
@for_each(
    "folders, most",
    (PRODUCT, {"pointers": 73, "walruses": 30}),
    (("tests",), {"pointers": 184, "walruses": 44, "long names of tests": 0}),
)
def test_names_that_say_little_only_become_fewer(folders: tuple[str, ...], most: dict[str, int]):
    counts: Counter[str] = Counter()
    for folder in folders:
        for file in (CHECKOUT / folder).rglob("*.py"):
            counts += count(file.read_text(encoding="utf-8"))

    excess = {name: counts[name] for name in most if counts[name] > most[name]}

    assert excess == {}, "name a variable by a noun, a test by a few words, and give an assignment its own line"


def test_the_counts_reach_every_place():
    code = f"""
class Kept:
    held: int = 1

    def test_{"x" * 56}(self, one, *, other):
        (given, date) = [each for each in other]
        if (found := one) and (date := found): pass
        return lambda known: known.kept

def test_short(): pass
"""

    assert count(code) == {"pointers": 6, "walruses": 2, "long names of tests": 1}
