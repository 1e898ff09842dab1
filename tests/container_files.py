"""Read the Dockerfile, .dockerignore and compose.yaml."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

CHECKOUT = Path(__file__).resolve().parents[1]


class Instruction(NamedTuple):
    """A line of the Dockerfile.

    :param name: For example ``RUN``.
    :param flags: The flags before the value, such as ``from`` in ``--from=build``.
    :param value: The rest of the line.
    """

    name: str
    flags: dict[str, str]
    value: str


def stages() -> list[list[Instruction]]:
    """The instructions of each stage; those before the first ``FROM`` form the first stage."""
    text = re.sub(r"^\s*#.*\n", "", (CHECKOUT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    parts: list[list[Instruction]] = [[]]
    for line in filter(None, re.sub(r"\\\n\s*", "", text).splitlines()):
        name, _, rest = line.partition(" ")
        flags = {}
        while match := re.match(r"--([a-z-]+)=(\S+)\s+", rest):
            flags[match[1]] = match[2]
            rest = rest[match.end() :]
        if name == "FROM":
            parts.append([])
        parts[-1].append(Instruction(name, flags, rest.strip()))
    return parts


def values(name: str, stage: int = -1) -> list[str]:
    """The values of all instructions with a name in a stage, by default the stage that becomes the image."""
    return [instruction.value for instruction in stages()[stage] if instruction.name == name]


def copied_from_the_checkout() -> list[str]:
    """The files and folders that the Dockerfile takes from the checkout."""
    lines = [
        instruction
        for stage in stages()
        for instruction in stage
        if instruction.name == "COPY" and "from" not in instruction.flags
    ]
    return [source for line in lines for source in line.value.split()[:-1]]


def reaches_the_builder(path: str) -> bool:
    """Whether .dockerignore lets a path pass. The last line that matches the path or a folder above it decides."""
    passes = True
    parts = path.split("/")
    above = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    for line in (CHECKOUT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern = re.escape(line.removeprefix("!")).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
            if any(re.fullmatch(pattern, folder) for folder in above):
                passes = line.startswith("!")
    return passes


def compose() -> dict[str, Any]:
    """The content of compose.yaml."""
    content = yaml.safe_load((CHECKOUT / "compose.yaml").read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def health_check() -> list[str]:
    """The command of the image's health check."""
    (check,) = values("HEALTHCHECK")
    command = json.loads(check.partition("CMD ")[2])
    assert isinstance(command, list)
    return command
