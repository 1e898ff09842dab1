"""The types of the settings: how the text of a variable is read, and which values are allowed.

The module ``settings`` uses these types. The last string in each type says in words which values are allowed. Error
messages and the docs show these words.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import NoDecode

# Other ways to write "on" and "off".
_SPELLINGS = dict.fromkeys(("true", "yes", "1"), "on") | dict.fromkeys(("false", "no", "0"), "off")


def _spell(text: object) -> object:
    """Write a word in small letters, and other ways to write "on" and "off" as these words. "Yes" gives "on"."""
    if not isinstance(text, str):
        return text
    word = text.lower()
    return _SPELLINGS.get(word, word)


def _split(text: object) -> object:
    """Split a text at its commas. For example, "a, b,," gives ("a", "b")."""
    if not isinstance(text, str):
        return text
    parts = [part.strip() for part in text.split(",")]
    return tuple(part for part in parts if part)


def _split_address(text: object) -> tuple[str, str]:
    """Split an address into host and port. The default host is this machine.

    For example, "[::1]:9000" gives ("::1", "9000"), and "9000" gives ("127.0.0.1", "9000").
    """
    host, _, port = str(text).rpartition(":")
    return host.strip("[]") or "127.0.0.1", port


def _check_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys unchanged. Raise ValueError if there are none, or if one has other characters than ASCII."""
    if not keys or not all(key.isascii() and key.isprintable() for key in keys):
        raise ValueError
    return keys


def _expand_home(path: Path | None) -> Path | None:
    """Replace "~" at the beginning of a path by the user's home folder."""
    return None if path is None else path.expanduser()


# Any text.
Text = Annotated[str, "a text"]
# A list of names.
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split), "names, separated by commas"]
# The path of a file or folder. It may begin with "~" for the user's home folder.
Place = Annotated[Path | None, AfterValidator(_expand_home), "a path"]
# A switch.
Switch = Annotated[bool, "on or off"]
# A number of seconds, which may have decimals.
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False), "a number above zero"]
# The same, or None if the program chooses the number.
LimitedSeconds = Annotated[float | None, Field(gt=0, allow_inf_nan=False), "a number above zero"]
# A number of things, such as processes or files.
Count = Annotated[int, Field(ge=1), "a whole number of at least 1"]
# A number of things that may be zero.
CountFromZero = Annotated[int, Field(ge=0), "a whole number of at least 0"]
# A percentage.
Percent = Annotated[int, Field(ge=1, le=100), "a whole number from 1 to 100"]
# A number of tokens or of threads, or None if the program chooses the number.
Tokens = Annotated[int | None, Field(ge=1), "a whole number of at least 1"]
# A switch, or None if nothing is sent to the model.
Thinking = Annotated[bool | None, "on or off"]
# Whether web search is allowed. None leaves the choice to the collection.
WebSetting = Annotated[Literal["on", "off", "ask"] | None, BeforeValidator(_spell), "on, off or ask"]
# How a model server is asked to reply in JSON.
StructuredOutput = Literal["json_schema", "json_object", "off"]
# The form in which a model replies. None lets the program choose the form.
ReplyFormat = Annotated[
    Literal["text", "steps", "json", "tools"] | None,
    BeforeValidator(_spell),
    "text, steps, json or tools",
]
# A host and a port, or None.
Address = Annotated[
    tuple[str, Annotated[int, Field(ge=1, le=65535)]] | None,
    NoDecode,
    BeforeValidator(_split_address),
    "a port, or HOST:PORT",
]
# What a web query may contain: the question, or also names from the passages.
WebQueries = Annotated[Literal["question", "names"], BeforeValidator(_spell), "question or names"]
# What the route `/ready` checks.
Ready = Annotated[Literal["all", "index"], BeforeValidator(_spell), "all or index"]
# Where keys, feedback and the list of uploads are stored.
State = Annotated[Literal["files", "elasticsearch"], BeforeValidator(_spell), "files or elasticsearch"]
# The form of the log of the server.
LogForm = Annotated[Literal["text", "json"], BeforeValidator(_spell), "text or json"]
# The same as `StructuredOutput`, in any spelling.
Structured = Annotated[StructuredOutput, BeforeValidator(_spell), "json_schema, json_object or off"]
# A secret. It may be in a file, and then the variable with "_FILE" added to its name has the path. No message shows a
# secret.
Secret = Annotated[str, "a secret"]
# Several secrets, which clients send as keys.
Keys = Annotated[
    tuple[str, ...],
    NoDecode,
    BeforeValidator(_split),
    AfterValidator(_check_keys),
    "keys of printable ASCII characters, separated by commas",
]
# The words of the two types that are secrets. They show whether a setting is a secret.
SECRETS = (Secret.__metadata__[-1], Keys.__metadata__[-1])  # type: ignore[attr-defined]
