"""A package imports only packages below it, and a part of `components` only parts below it. Here, both are "rooms"."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.for_each import for_each
from tests.rooms import PACKAGES, ROOMS
from tests.statements import statements

CHECKOUT = Path(__file__).parent.parent

# The modules in `prefrag/` itself, on which all packages stand.
GROUND = ("worker_options", "tracing", "audit_log", "private_file", "file_lock", "settings", "setting_types", "errors")
SERVER_ROOMS = ("app", "judge_trials", "chat", "library", "page", "public_result", "access", "http")
# `collections/` at the top of a checkout would hide the module of Python that has this name.
PLACES = {"collections": "prefrag/collections"}
# The maximum number of modules in a folder; beyond it, a folder asks for rooms. `readers` has one for each kind of file.
MOST_MODULES = 12
WITHOUT_ROOMS = ("indexing/readers",)
# Parsing all files takes a second. So only files are parsed whose text may have an import without the prefix `prefrag`.
OWN = (*(name for name in PACKAGES if name not in PLACES), "yaml_pipelines", "demo")
IMPORT_OF_A_TEST = re.compile(r"^\s*(?:from|import)\b(?:[^\n(]*\btest_|[^\n(]*\([^)]*\btest_)", re.MULTILINE)
OWN_IMPORT = re.compile(rf"^\s*(?:(?:from|import) (?:\.|(?:{'|'.join(OWN)})\b)|import .*,)", re.MULTILINE)


# The maximum number of lines of code in a folder, as `count_code` counts them. How much may be added: decision 0010.
BUDGET = {
    "cli": 2_698,
    "components": 22_773,
    "evaluation": 10_044,
    "indexing": 6_621,
    "pipelines": 1_911,
    "prefrag": 3_469,
    "server": 4_911,
    "training": 5_274,
    "tests": 53_215,
}


def git(*arguments: str) -> str:
    """Return the output of git, or an empty text without git or without a repository."""
    try:
        return subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=60).stdout
    except OSError:
        return ""


def modules(*folders: str) -> list[Path]:
    return [file for folder in folders for file in sorted((CHECKOUT / folder).rglob("*.py"))]


@cache
def read_code(code: str) -> tuple[list[tuple[int, str]], int]:
    """Return what :func:`imports` and :func:`count_code` return; a file is parsed once for both."""
    names = []
    lines = code.splitlines()
    for node in statements(code):
        if isinstance(node, ast.Import):
            names += [(node.lineno, name.name) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names += [(node.lineno, f"{module}.{name.name}") for name in node.names]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            end = node.end_lineno or node.lineno
            lines[node.lineno - 1 : end] = [""] * (end - node.lineno + 1)
    # A line of a long string that begins with `#` is left out too: in the texts of the tests it is also a comment.
    count = sum(bool(left) and left[0] != "#" for left in (line.strip("()[]{},: \t") for line in lines))
    return sorted(names), count


def imports(code: str) -> list[tuple[int, str]]:
    """Return the line and the full name of each import, also inside functions."""
    return read_code(code)[0]


def count_code(code: str) -> int:
    """Count the lines of code: without comments, docstrings, blank lines and lines of brackets and commas alone."""
    return read_code(code)[1]


def upward(code: str, here: str, order: tuple[str, ...], above: str) -> list[tuple[int, str]]:
    """Return the imports of rooms that come before the room ``here`` in the order, or are not in the order."""
    faults = []
    for line, name in imports(code):
        if name.startswith(f"{above}."):
            room = name.removeprefix(f"{above}.").split(".")[0]
            if above == "prefrag" and room in ("ROOT", "version"):
                continue
            if room not in order or order.index(room) < order.index(here):
                faults.append((line, name))
    return faults


def without_prefix(code: str) -> list[tuple[int, str]]:
    names = imports(code) if OWN_IMPORT.search(code) else []
    return [(line, name) for line, name in names if name.startswith(".") or name.split(".")[0] in OWN]


def imported_tests(code: str) -> list[tuple[int, str]]:
    """The imported names that are, or are in, a module of tests."""
    names = imports(code) if IMPORT_OF_A_TEST.search(code) else []
    return [(line, name) for line, name in names if any(part.startswith("test_") for part in name.split("."))]


def listed(file: Path, names: Iterable[tuple[int, str]]) -> list[str]:
    return [f"{file.relative_to(CHECKOUT)}:{line} imports {name}" for line, name in names]


def place(package: str) -> str:
    return PLACES.get(package, package)


def module_name(file: Path) -> str:
    """Return the full name by which a module is imported."""
    parts = file.relative_to(CHECKOUT).with_suffix("").parts
    return ".".join(
        part
        for part in (*(() if parts[0] in ("prefrag", "benchmarks") else ("prefrag",)), *parts)
        if part != "__init__"
    )


def circle(imported: Mapping[str, set[str]]) -> list[str]:
    """Return modules of which each imports the one before, the first the last; empty if there is no such circle."""
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@for_each("package", *PACKAGES)
def test_a_package_imports_none_above_it(package: str):
    faults = [
        fault
        for file in modules(place(package))
        for fault in listed(file, upward(file.read_text(), package, (*PACKAGES, *GROUND), "prefrag"))
    ]

    assert faults == []


@for_each("module", *GROUND)
def test_the_ground_imports_only_what_is_below(module: str):
    file = CHECKOUT / "prefrag" / f"{module}.py"

    assert listed(file, upward(file.read_text(), module, GROUND, "prefrag")) == []


@for_each("room", *ROOMS)
def test_a_room_of_components_imports_none_above_it(room: str):
    faults = [
        fault
        for file in files_of("components", room)
        for fault in listed(file, upward(file.read_text(), room, ROOMS, "prefrag.components"))
    ]

    assert faults == []


@for_each("room", *SERVER_ROOMS)
def test_a_room_of_the_server_imports_none_above_it(room: str):
    faults = [
        fault
        for file in files_of("server", room)
        for fault in listed(file, upward(file.read_text(), room, SERVER_ROOMS, "prefrag.server"))
    ]

    assert faults == []


def files_of(package: str, room: str) -> list[Path]:
    single = CHECKOUT / package / f"{room}.py"
    return [single] if single.exists() else modules(f"{package}/{room}")


@for_each("package, rooms", ("components", ROOMS), ("server", SERVER_ROOMS))
def test_each_room_is_in_the_order(package: str, rooms: tuple[str, ...]):
    inside = (CHECKOUT / package).iterdir()
    names = {path.stem for path in inside if path.suffix == ".py" or (path / "__init__.py").exists()}

    assert names - {"__init__"} <= set(rooms)


def test_no_modules_import_each_other_in_a_circle():
    files = {module_name(file): file for file in modules(*map(place, PACKAGES), "prefrag", "benchmarks")}
    imported = {
        # What is imported is a module itself, or stands in the module before the last dot.
        module: {name if name in files else name.rpartition(".")[0] for _, name in imports(file.read_text())}
        & files.keys() - {module}
        for module, file in files.items()
    }

    assert circle(imported) == []


def test_a_circle_of_modules_is_found_whatever_its_length():
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}
    assert circle({"a": {"b"}, "b": set()}) == []


@for_each("folder", "server", "indexing", "prefrag/collections")
def test_a_folder_holds_at_most_twelve_modules(folder: str):
    sizes = Counter(str(file.parent.relative_to(CHECKOUT)) for file in modules(folder) if file.name != "__init__.py")

    assert {name: size for name, size in sizes.items() if size > MOST_MODULES and name not in WITHOUT_ROOMS} == {}


# Where the name of a kind of collection becomes an object, and settings that hold such a name.
DOORS = {
    "prefrag/collections/opening.py": 1,
    "evaluation/pipeline_under_test/experiment.py": 1,
    "evaluation/pipeline_under_test/replacement.py": 1,
}


def test_a_collection_travels_as_an_object():
    named = re.compile(r"\b(shared: bool|store: str)\b")
    places = modules("server", "evaluation", "indexing", "training", "pipelines", "components", "prefrag")
    counts = {str(file.relative_to(CHECKOUT)): len(named.findall(file.read_text())) for file in places}

    assert {name: count for name, count in counts.items() if count} == DOORS


def test_no_constructor_has_over_ten_parameters():
    # One more for StateBuilder, whose rules came later than the YAML files that name its other ten.
    most = {"StateBuilder": 11}
    faults = [
        f"{file.relative_to(CHECKOUT)}: {owner.name} has {len(names) - 1}"
        for file in modules("components")
        for owner in ast.walk(ast.parse(file.read_text()))
        if isinstance(owner, ast.ClassDef)
        for made in owner.body
        if isinstance(made, ast.FunctionDef) and made.name == "__init__"
        if len(names := [*made.args.posonlyargs, *made.args.args, *made.args.kwonlyargs]) - 1 > most.get(owner.name, 10)
    ]

    assert faults == []


def test_all_our_import_names_begin_with_prefrag():
    files = modules(*map(place, PACKAGES), "prefrag", "benchmarks", "hayhooks", "tests")
    faults = [fault for file in files for fault in listed(file, without_prefix(file.read_text()))]

    assert faults == []


def test_a_test_imports_no_other_test():
    faults = [fault for file in modules("tests") for fault in listed(file, imported_tests(file.read_text()))]

    assert faults == [], "put what two tests need into a module of its own"


def test_an_import_of_a_test_is_seen():
    code = "from tests.server.test_chat import chat\nfrom tests.server.chats import chat\nimport latest_news"

    assert [name for _, name in imported_tests(code)] == ["tests.server.test_chat.chat"]


@for_each("folder", *BUDGET)
def test_a_folder_keeps_within_its_budget(folder: str):
    tracked = git("-C", str(CHECKOUT), "ls-files", "--", f"{folder}/*.py").splitlines()
    files = [CHECKOUT / name for name in tracked] or modules(folder)
    lines = sum(count_code(file.read_text(encoding="utf-8")) for file in files if file.exists())

    assert lines <= BUDGET[folder], "see docs/decisions/0010-a-budget-of-lines.md"


def test_comments_docstrings_blanks_and_brackets_are_no_code():
    code = '''"""A module.

Its docstring has two paragraphs.
"""

# A comment.
NUMBERS = [
    1,  # counted with its comment
    {
        "two": """
           text
        """,
    },
]


class Kept:
    """A docstring."""

    size: int = 3
    """Describes the field."""
'''

    assert count_code(code) == 7
    assert count_code("") == 0


def test_each_folder_of_the_package_has_a_budget():
    assert {*PACKAGES, "prefrag", "tests"} - {*PLACES} == set(BUDGET)


def test_import_of_an_upper_room_is_seen_inside_a_function_too():
    """So is a room that is not in the order."""

    code = "def late():\n    from prefrag.components.web.web_retriever import WebRetriever\n"

    assert upward(code, "dr_rag", ROOMS, "prefrag.components") == []
    assert upward(code, "retrievers", ROOMS, "prefrag.components") == [
        (2, "prefrag.components.web.web_retriever.WebRetriever")
    ]

    assert upward("from prefrag.components.attic import box", "dr_rag", ROOMS, "prefrag.components") != []


@for_each("code", "import components", "from pipelines import load", "from .state import State")
def test_an_import_without_prefrag_is_found(code: str):
    assert [line for line, _ in without_prefix(code)] == [1]
