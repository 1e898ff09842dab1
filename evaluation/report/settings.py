"""Compare the settings of runs.

The functions here find the settings in which two runs differ, and say whether the runs may be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from prefrag.evaluation.report.runs import TOP_K, USUAL, Run, Value

# The name of the setting for the corpus that a run searched.
_CORPUS = "corpus"
# The name of the setting for what a run searched in place of the web.
_WEB = "web"
# The name of the setting that says whether the corpus is split.
_SPLIT = "split of the corpus"
# Settings that may differ between compared methods, because they belong to the method. The report names them.
OF_METHODS = frozenset({"method", "retriever", TOP_K, "store", "pipeline file"})


@dataclass(frozen=True)
class Setting:
    """A combination of settings: the values that are fixed in a table, while methods and datasets vary."""

    # The name and value of each setting. The value is None if the runs do not use the setting.
    values: tuple[tuple[str, Value], ...]
    # The values that all runs share, in words. The property `text` leaves them out.
    shared: frozenset[str] = field(default=frozenset(), compare=False)

    @classmethod
    def of(cls, run: Run) -> Setting:
        """Return the combination of settings that a run has.

        :param run: The run.
        :returns: The settings.
        """
        return cls(tuple(run.settings.items()))

    def get(self, name: str) -> Value:
        """Get the value of one setting.

        :param name: The name of the setting.
        :returns: The value. None if the runs do not use the setting.
        """
        return dict(self.values).get(name)

    def put(self, name: str, value: Value) -> Setting:
        """Copy the settings and change one of them.

        :param name: The name of the setting.
        :param value: Its new value.
        :returns: The copy.
        """
        return Setting(tuple({**dict(self.values), name: value}.items()), self.shared)

    @property
    def parts(self) -> list[str]:
        """The values in words."""
        return [describe(name, value) for name, value in self.values if value is not None]

    @property
    def text(self) -> str:
        """The values that not all runs share, in words.

        If all runs share all values, the text has top-k and the unusual values.
        """
        unlike = [part for part in self.parts if part not in self.shared]
        if not unlike:
            unlike = [describe(name, value) for name, value in self.values if _is_worth_naming(name, value)]
        return ", ".join(unlike)

    @property
    def usual(self) -> int:
        """The number of settings that have their usual value."""
        return sum(USUAL.get(name) == value for name, value in self.values)

    def holds(self, run: Run) -> bool:
        """Check whether a run has these values.

        :param run: The run.
        :returns: True if all values are equal. A setting that the run does not use counts as equal.
        """
        run_settings = run.settings
        names = {**dict(self.values), **run_settings}
        return all(run_settings.get(name) in (None, self.get(name)) for name in names)


def _is_worth_naming(name: str, value: Value) -> bool:
    """Check whether a value is named although all runs share it: top-k, and any value that is not the usual one."""
    if value is None:
        return False
    return name == TOP_K or USUAL.get(name) != value


def describe(name: str, value: Value) -> str:
    """Write the name and value of a setting in words.

    For example, ``describe("judge error", 0.1)`` returns ``"judge error 0.1"``, and ``describe("top-k", 5)`` returns
    ``"k 5"``.

    :param name: The name of the setting.
    :param value: Its value.
    :returns: The words.
    """
    # In Python, True and False are numbers too.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    text = f"{value:g}" if is_number else str(value)
    if name == "model":
        return text
    if name == "prompts":
        return f"{text} prompts"
    if name == TOP_K:
        return f"k {text}"
    return f"{name} {text}"


def list_differences(run: Run, other: Run) -> tuple[str, ...]:
    """List the settings in which two runs differ.

    :param run: A run.
    :param other: Another run.
    :returns: The names of the settings. A setting that one of the runs lacks counts as equal.
    """
    values = _list_all(run)
    other_values = _list_all(other)
    names = dict.fromkeys([*values, *other_values])
    if run.method != other.method:
        # The files of two methods always differ.
        names.pop("pipeline file")

    differing = []
    for name in names:
        value = values.get(name)
        other_value = other_values.get(name)
        if value is not None and other_value is not None and value != other_value:
            differing.append(name)
    return tuple(differing)


def list_obstacles(run: Run, other: Run) -> tuple[str, ...]:
    """List the differences that keep two methods from being compared.

    :param run: A run.
    :param other: A run of another method.
    :returns: The names of the settings.
    """
    # Top-k belongs to a method, but keeps it from being compared all the same.
    harmless = OF_METHODS - {TOP_K}
    return tuple(name for name in list_differences(run, other) if name not in harmless)


def _list_all(run: Run) -> dict[str, Value]:
    """Return all settings of a run that may keep it from being compared with another."""
    return {"method": run.family, **run.settings, **dict(_list_searched(run))}


def _list_searched(run: Run) -> Iterator[tuple[str, Value]]:
    """Yield what a run searched and the digest of its pipeline. These may differ between the lines of a table."""
    corpus, web = run.passages
    yield "retriever", run.retriever
    yield _CORPUS, corpus or None
    yield _WEB, web or None
    yield "store", run.config.get("store") or None
    yield "pipeline file", run.config.get("pipeline_sha256") or None
    yield _SPLIT, run.task
