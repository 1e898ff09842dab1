"""The types of the settings: how the text of a variable is read, and which values are allowed."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import NoDecode

_SPELLINGS = dict.fromkeys(("true", "yes", "1"), "on") | dict.fromkeys(("false", "no", "0"), "off")


def _spell(text: object) -> object:
    return _SPELLINGS.get(text.lower(), text.lower()) if isinstance(text, str) else text


def _split(text: object) -> object:
    return tuple(filter(None, map(str.strip, text.split(",")))) if isinstance(text, str) else text


def _split_address(text: object) -> tuple[str, str]:
    host, _, port = str(text).rpartition(":")
    return host.strip("[]") or "127.0.0.1", port


def _check_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    if not keys or not all(key.isascii() and key.isprintable() for key in keys):
        raise ValueError
    return keys


# The last string in each type says which values are allowed.
Text = Annotated[str, "a text"]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split), "names, separated by commas"]
Place = Annotated[Path | None, AfterValidator(lambda path: None if path is None else path.expanduser()), "a path"]
Switch = Annotated[bool, "on or off"]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False), "a number above zero"]
LimitedSeconds = Annotated[float | None, Field(gt=0, allow_inf_nan=False), "a number above zero"]
Count = Annotated[int, Field(ge=1), "a whole number of at least 1"]
CountFromZero = Annotated[int, Field(ge=0), "a whole number of at least 0"]
Percent = Annotated[int, Field(ge=1, le=100), "a whole number from 1 to 100"]
Tokens = Annotated[int | None, Field(ge=1), "a whole number of at least 1"]
Thinking = Annotated[bool | None, "on or off"]
WebSetting = Annotated[Literal["on", "off", "ask"] | None, BeforeValidator(_spell), "on, off or ask"]
StructuredOutput = Literal["json_schema", "json_object", "off"]
ReplyFormat = Annotated[
    Literal["text", "steps", "json", "tools"] | None,
    BeforeValidator(_spell),
    "text, steps, json or tools",
]
Address = Annotated[
    tuple[str, Annotated[int, Field(ge=1, le=65535)]] | None,
    NoDecode,
    BeforeValidator(_split_address),
    "a port, or HOST:PORT",
]
WebQueries = Annotated[Literal["question", "names"], BeforeValidator(_spell), "question or names"]
Ready = Annotated[Literal["all", "index"], BeforeValidator(_spell), "all or index"]
State = Annotated[Literal["files", "elasticsearch"], BeforeValidator(_spell), "files or elasticsearch"]
LogForm = Annotated[Literal["text", "json"], BeforeValidator(_spell), "text or json"]
Structured = Annotated[StructuredOutput, BeforeValidator(_spell), "json_schema, json_object or off"]
# A secret may be in a file: then the variable with _FILE added to its name holds the path. No message shows a secret.
Secret = Annotated[str, "a secret"]
Keys = Annotated[
    tuple[str, ...],
    NoDecode,
    BeforeValidator(_split),
    AfterValidator(_check_keys),
    "keys of printable ASCII characters, separated by commas",
]
SECRETS = (Secret.__metadata__[-1], Keys.__metadata__[-1])  # type: ignore[attr-defined]
