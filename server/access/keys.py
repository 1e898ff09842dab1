"""Store, look up and require API keys.

Keys come from the environment variable ``PREFRAG_API_KEYS``. Other keys are made with `prefrag keys add`. They are
stored as hashes, in a file or in an Elasticsearch index.

- :class:`Key` is a stored key. `add_key`, `read_keys` and `revoke_key` change and read the stored keys.
- :class:`Keyring` holds the keys that a running server accepts.
- :class:`ApiKeys` is the middleware that checks the key of each request.
- :class:`Access` says what a request may do. Other modules read it from :data:`current_access`.
"""

import hashlib
import hmac
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, NamedTuple

from anyio import CapacityLimiter, to_thread
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from prefrag.audit_log import label_audit
from prefrag.components.document_stores.tantivy.index_location import data_directory
from prefrag.components.state.web_switch import CLOSED_BY_KEY, web_closed_by
from prefrag.errors import BadInput, Missing
from prefrag.file_lock import Busy, hold_lock
from prefrag.private_file import write_private
from prefrag.server.access.key_index import KEY_INDEX, KeyIndex, KeysUnreadable
from prefrag.server.access.page_token import PageToken
from prefrag.server.http.security import (
    DEPLOY_PATHS,
    comes_from_foreign_page,
    comes_from_own_page,
    comes_from_this_machine,
    path_of,
    refuse,
)
from prefrag.settings import settings

logger = logging.getLogger(__name__)

# Secret scanners for repositories and logs recognise a key by this prefix.
_PREFIX = "prefrag_"
# How many random bytes a key has. 32 bytes are 256 bits, which nobody can guess.
_KEY_BYTES = 32
# The name of a key: 1 to 64 characters that begin with a letter or digit. "ada@example.org" matches, ".ada" does not.
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$"
# The name of a collection. The rule is the same, but without "@": "tax-2024" matches, "tax@home" does not.
_COLLECTION = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
# The maximum size of the key file, in bytes. A larger file is refused as damaged.
_MOST_BYTES = 1_000_000
# How many seconds a command waits while another process changes the key file. After this time it gives up.
_LOCK_SECONDS = 10.0
# A server process reads the index of keys at most once in this many seconds. So a new key may work this much later.
_INDEX_SECONDS = 1.0
# How often a change of the index of keys is tried if others change the index at the same time.
_ATTEMPTS = 10
# The paths "/ready" and "/live", which probes ask. `ApiKeys` passes them on without any check.
_PROBES = re.compile(r"/(ready|live)")
# Paths of documents, such as "/collections", "/collections/tax/documents" and "/feedback". Without a key, requests for
# them from a page of another site are refused. This is so even where the browser would not let the page read the reply.
_OF_DOCUMENTS = re.compile(r"/(collections(/.*)?|feedback)")
# Paths that need no key, because probes and browsers that open the page send none. Their replies reveal no data.
# "/", "/ready" and "/page/main.js" match. "/pipelines" does not.
PUBLIC_PATHS = re.compile(rf"/(|page/[\w-]+\.\w+)|{_PROBES.pattern}")


@dataclass(frozen=True)
class Access:
    """What a request may do. Usually the key of the request decides this.

    While the server needs no key, requests from this machine get :data:`ANYONE` or :data:`OWNER`.
    """

    # The name of the key. It is empty for a request without a key.
    key: str = ""
    # The names of the collections that the request may search. None means all.
    collections: frozenset[str] | None = None
    # Whether the request may add and delete documents.
    writes: bool = False
    # Whether questions may be sent to the web. If this is true, other settings may still forbid it.
    web: bool = True
    # Whether the request may deploy pipelines. The deploy routes must also be switched on.
    deploys: bool = False
    # Whether error messages may name the servers on which this server depends.
    is_owner: bool = False


# What a chat or MCP request without a key may do, while the server needs no key.
ANYONE = Access(deploys=True)
# What any other request without a key may do. It comes from the person who sits at this machine.
OWNER = Access(deploys=True, is_owner=True)
# What a request with the page's cookie may do. No stored key is called page:token, as names of keys have no colon.
AT_TERMINAL = Access("page:token", writes=True, is_owner=True)
# What the current request may do. `ApiKeys` sets this before other code reads it. The request's tasks inherit it.
current_access: ContextVar[Access] = ContextVar("current_access", default=ANYONE)


class Key(BaseModel):
    """A stored key: what the key allows, and the hash that identifies it."""

    # Refuse unknown fields. A later version may have written such a field to restrict the key.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Annotated[str, Field(pattern=_NAME)]
    # SHA-256 without salt or stretching is enough, because a key is 256 random bits, which nobody can guess. Functions
    # such as bcrypt, which protect weak passwords, would only slow down each request.
    hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    # The last four characters of the key. `prefrag keys list` shows them.
    ending: str
    # When the key was made, in UTC.
    made: datetime
    # The last day on which the key works, in UTC. None means that the key works until it is revoked.
    expires: date | None = None
    # The collections that the key may search. None means all.
    collections: Annotated[tuple[Annotated[str, Field(pattern=_COLLECTION)], ...], Field(min_length=1)] | None = None
    # Whether questions with this key may go to the web.
    web: bool = True
    # Whether the key may add and delete documents.
    writes: bool = False

    @property
    def has_expired(self) -> bool:
        """Whether the key's last day is over, in UTC."""
        return self.expires is not None and datetime.now(UTC).date() > self.expires

    @property
    def access(self) -> Access:
        """What the key allows."""
        collections = None if self.collections is None else frozenset(self.collections)
        return Access(self.name, collections=collections, writes=self.writes, web=self.web)


# The content of the key file. The document in Elasticsearch has the same fields.
class _KeysFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    keys: tuple[Key, ...] = ()


def keys_file() -> Path:
    """Return the path of the key file, which may not exist."""
    return settings.keys_file.absolute() if settings.keys_file else data_directory() / "keys.json"


def are_shared() -> bool:
    """Check whether the keys are stored in Elasticsearch, where several servers share them.

    :raises BadInput: If the settings name both Elasticsearch and a key file.
    """
    shared = settings.state == "elasticsearch"
    if shared and settings.keys_file is not None:
        raise BadInput(
            "PREFRAG_KEYS_FILE and PREFRAG_STATE=elasticsearch name two places for the keys: unset one of them."
        )
    return shared


def place_of_keys() -> str:
    """Return where the keys are stored, in words for a message.

    For example, the result is ``"the Elasticsearch index prefrag-keys"`` or the path of the key file.
    """
    return f"the Elasticsearch index {KEY_INDEX}" if are_shared() else str(keys_file())


def read_keys() -> tuple[Key, ...]:
    """Read the stored keys. The keys of ``PREFRAG_API_KEYS`` are not among them.

    :returns: The keys in the order in which they were made. Expired keys are included.
    :raises BadInput: If the file or the document is damaged, or the file cannot be read.
    :raises KeysUnreadable: If Elasticsearch does not answer.
    """
    if are_shared():
        document, _ = KeyIndex().read()
        return _read_document(document or {})
    try:
        return _read(keys_file())
    except FileNotFoundError:
        return ()


def add_key(
    name: str, collections: Sequence[str] = (), web: bool = True, writes: bool = False, expires: date | None = None
) -> str:
    """Make a key and store its hash.

    :param name: The name of the key. It must not be in use.
    :param collections: The collections that the key may search. An empty sequence means all.
    :param web: Whether questions with this key may go to the web.
    :param writes: Whether the key may add and delete documents.
    :param expires: The last day on which the key works, in UTC. None means no end.
    :returns: The key itself. It is stored nowhere, so it cannot be shown again.
    :raises BadInput: If a name is not allowed or already in use, if the day is past, or if the file cannot be written.
    :raises KeysUnreadable: If Elasticsearch does not answer.
    """
    secret = _PREFIX + secrets.token_urlsafe(_KEY_BYTES)
    try:
        key = Key(
            name=name,
            hash=_hash(secret),
            ending=secret[-4:],
            made=datetime.now(UTC).replace(microsecond=0),
            expires=expires,
            collections=tuple(collections) or None,
            web=web,
            writes=writes,
        )
    except ValidationError as error:
        raise BadInput(
            "Keys and collections have names of up to 64 letters, digits, '.', '-' and '_', beginning with a letter or "
            "digit. The names of keys may also contain '@'."
        ) from error
    if key.has_expired:
        raise BadInput(f"{expires} is past: give the last day on which the key works, such as 2030-12-31.")

    def append(keys: tuple[Key, ...]) -> tuple[Key, ...]:
        if any(key.name == name for key in keys):
            raise BadInput(f"There is a key '{name}' already: choose another name, or revoke it first.")
        return (*keys, key)

    _change(append)
    return secret


def revoke_key(name: str) -> int:
    """Delete a stored key. Running servers then refuse requests with this key.

    :param name: The name of the key.
    :returns: How many stored keys are left.
    :raises Missing: If there is no such key.
    """

    def remove(keys: tuple[Key, ...]) -> tuple[Key, ...]:
        left = tuple(key for key in keys if key.name != name)
        if len(left) == len(keys):
            raise Missing(f"There is no key {name!r}: `prefrag keys list` lists all keys.")
        return left

    return len(_change(remove))


class Keyring:
    """The keys that a server accepts.

    Requests need a key in each of these cases:

    - The environment has keys.
    - A key file or an index of keys exists.
    - A setting requires a key, or names a key file.
    - The index of keys cannot be read at the moment.
    - This process has read a key file, but the file is gone. Otherwise its loss would open the service to everybody.
    """

    def __init__(self) -> None:
        self.path = keys_file()
        # Whether the last attempt to read the index of keys failed.
        self.is_unreadable = False
        self._index = KeyIndex() if are_shared() else None
        self._one_at_a_time = CapacityLimiter(1)
        # The index of keys is not read again before this time of the monotonic clock.
        self._next_read = 0.0
        # Keys in the environment get names with a colon, which no stored key can have.
        self._of_environment: list[tuple[str, Access]] = []
        for number, key in enumerate(settings.api_keys, start=1):
            self._of_environment.append((_hash(key), Access(f"environment:{number}", deploys=True)))
        self._stored: tuple[Key, ...] = ()
        # What the file system said about the key file when it was last read. While it says the same, the file is not
        # read again.
        self._file_state: object = None
        # Requests need a key if there is a key file on this machine, even if the keys are in Elasticsearch now.
        self._has_key_store = settings.keys_file is not None
        if not self._has_key_store and self._index is not None:
            self._has_key_store = self.path.exists()
        self._is_set_to_require = settings.require_key
        self._read_again()

    @property
    def is_required(self) -> bool:
        """Whether a request needs a key."""
        return bool(self._of_environment) or self._has_key_store or self._is_set_to_require or self.is_unreadable

    @property
    def has_keys(self) -> bool:
        """Whether there is a key that works."""
        return self._count_keys() > 0

    @property
    def is_shared(self) -> bool:
        """Whether more than one key works. If so, each key may use only its share of the server."""
        return self._count_keys() > 1

    def find(self, secret: str) -> Access | None:
        """Find out what a key allows. The keys are read again first if they may have changed.

        :param secret: The key that a request has sent. It may be empty.
        :returns: What the key allows. None if the key is unknown or has expired.
        """
        self._read_again()
        return self._look_up(secret)

    async def find_async(self, secret: str) -> Access | None:
        """Do the same as :meth:`find`, without blocking the event loop.

        An index of keys is read in a thread. A key file is read here, because that is quick.

        :param secret: The key that a request has sent. It may be empty.
        :returns: What the key allows. None if the key is unknown or has expired.
        """
        if self._index is not None and time.monotonic() >= self._next_read:
            await to_thread.run_sync(self._read_again, limiter=self._one_at_a_time)
        elif self._index is None:
            self._read_again()
        return self._look_up(secret)

    def _look_up(self, secret: str) -> Access | None:
        """Return what a key allows, by the keys that were last read. None if the key is unknown or has expired."""
        hashed = _hash(secret)
        stored = [(key.hash, key.access) for key in self._stored if not key.has_expired]
        accesses = [*self._of_environment, *stored]
        # Compare with every hash, and each time in constant time. Otherwise the duration could reveal parts of a hash.
        matching = [access for own_hash, access in accesses if hmac.compare_digest(hashed, own_hash)]
        return matching[0] if matching else None

    def _count_keys(self) -> int:
        return len(self._of_environment) + sum(not key.has_expired for key in self._stored)

    def _read_again(self) -> None:
        """Read the keys again if they may have changed."""
        if self._index is None:
            self._read_file_again()
        elif time.monotonic() >= self._next_read:
            self._read_index_again(self._index)

    def _read_index_again(self, index: KeyIndex) -> None:
        """Read the keys from Elasticsearch. If this fails, no stored key works until a later attempt succeeds."""
        keys: tuple[Key, ...] = ()
        try:
            document, _ = index.read()
            self._has_key_store |= document is not None
            keys = _read_document(document or {})
        except (KeysUnreadable, BadInput) as error:
            if not self.is_unreadable:
                logger.error("%s", error)
            self.is_unreadable = True
        else:
            self.is_unreadable = False
        self._stored = keys
        self._next_read = time.monotonic() + _INDEX_SECONDS

    def _read_file_again(self) -> None:
        """Read the key file if it has changed since it was last read."""
        try:
            status = self.path.stat()
            file_state: object = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        except OSError as error:
            file_state = type(error)
        if file_state == self._file_state:
            return

        self._file_state = file_state
        self._stored = ()
        try:
            self._stored = _read(self.path)
            self._has_key_store = True
        except FileNotFoundError:
            if self._has_key_store:
                logger.error("The key file %s is gone: all of its keys are refused until it is back.", self.path)
        except BadInput as error:
            self._has_key_store = True
            if isinstance(error.__cause__, OSError):
                # Read the file again at the next request, even if it has not changed. Some errors pass by themselves,
                # such as too many open files.
                self._file_state = None
            logger.error("%s Until then, all of its keys are refused.", error)


class _Refusal(NamedTuple):
    """The reply to a request that is not passed on: its status, its message and its further headers."""

    status: int
    message: str
    headers: dict[str, str] | None = None


_NO_KEYS = _Refusal(
    403,
    "This service has no API keys: make one with `prefrag keys add NAME`, or set PREFRAG_API_KEYS. Without keys, it "
    "only answers clients on its own machine that use a name such as localhost and no proxy.",
)
_TOKEN_USED = _Refusal(
    403, "This address was used, or the server restarted. Open the address that the terminal shows now."
)
_UNREADABLE = _Refusal(
    503, "The keys cannot be read right now, so no request is answered: try again.", {"Retry-After": "2"}
)
_KEY_REQUIRED = _Refusal(
    401, "Send a valid API key in the header: Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"}
)
_FOREIGN_PAGE = _Refusal(
    403,
    "A web page of another origin gets nothing here without a key: the administrator allows it with "
    "PREFRAG_CORS_ORIGINS.",
)
_MAY_NOT_DEPLOY = _Refusal(403, "Only the keys of PREFRAG_API_KEYS may deploy pipelines.")


class ApiKeys:
    """Require an API key as a bearer token, or the page's cookie.

    While there are no keys, only requests from this machine are answered. The code that handles a request reads in
    :data:`current_access` what the request may do.

    The checks are made in this order:

    1. Probes pass without a check.
    2. The key of the request is looked up. Without a valid key, the page's cookie counts.
    3. If the server has no keys, a request from another machine gets 403.
    4. ``POST /access`` exchanges a token of the page for the cookie.
    5. Public paths pass.
    6. A request without a valid key gets 503 while the keys cannot be read, and 401 if a key is required.
    7. A page of another site gets 403 for paths of documents, and a key that may not deploy gets 403 for deploy paths.

    :param app: The next application.
    :param keyring: The keys that the server accepts.
    :param page_token: The tokens and the cookie of the page.
    """

    def __init__(self, app: ASGIApp, keyring: Keyring, page_token: PageToken):
        self.app = app
        self.keyring = keyring
        self.page_token = page_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401, 403 or 503."""
        path = path_of(scope) if scope["type"] != "lifespan" else ""
        if scope["type"] == "lifespan" or _PROBES.fullmatch(path):
            await self.app(scope, receive, send)
            return

        access = await self.keyring.find_async(_read_token(scope))
        is_local = comes_from_this_machine(scope)
        is_own_page = is_local and comes_from_own_page(scope)
        if access is None and is_own_page and self.page_token.is_held(scope):
            access = AT_TERMINAL

        is_stranger = access is None and not self.keyring.is_required and not is_local
        if is_stranger:
            refusal: _Refusal | None = _NO_KEYS
        elif path == "/access" and scope.get("method") == "POST":
            sets_cookie = self.page_token.exchange(_read_token(scope), scope) if is_own_page else None
            if sets_cookie is not None:
                await sets_cookie(scope, receive, send)
                return
            refusal = _TOKEN_USED
        elif PUBLIC_PATHS.fullmatch(path):
            await self.app(scope, receive, send)
            return
        else:
            refusal = self._find_refusal(scope, path, access)
        if refusal is not None:
            await refuse(scope, receive, send, refusal.status, refusal.message, refusal.headers)
            return

        if access is None:
            # A chat or MCP request from this machine may serve somebody else, such as the users of a front end.
            may_serve_others = path.endswith(("/chat/completions", "/mcp"))
            access = ANYONE if may_serve_others else OWNER
        current_access.set(access)
        # If the key forbids web search, switch web search off here, because the requests of all routes pass here.
        closed_by = "" if access.web else CLOSED_BY_KEY
        web_closed_by.set(closed_by)
        label_audit(key=access.key or None)
        await self.app(scope, receive, send)

    def _find_refusal(self, scope: Scope, path: str, access: Access | None) -> _Refusal | None:
        """Make the checks 6 and 7 of a request. Return None if it passes them.

        :param scope: The request.
        :param path: Its path, which is not public.
        :param access: What the key or the cookie of the request allows. None without a valid one.
        """
        if access is not None:
            return _MAY_NOT_DEPLOY if not access.deploys and DEPLOY_PATHS.fullmatch(path) else None
        if self.keyring.is_unreadable:
            return _UNREADABLE
        if self.keyring.is_required:
            return _KEY_REQUIRED
        if _OF_DOCUMENTS.fullmatch(path) and comes_from_foreign_page(scope):
            return _FOREIGN_PAGE
        return None


def _read_token(scope: Scope) -> str:
    """Read the bearer token of a request. Return an empty text if there is none.

    For example, the header ``Authorization: Bearer abc`` gives ``"abc"``.
    """
    scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _read(path: Path) -> tuple[Key, ...]:
    """Read the key file. Raise FileNotFoundError if it does not exist, and BadInput for every other problem."""
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise ValueError("it is too large")
        return _KeysFile.model_validate_json(text).keys
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            reason = str(error.strerror)
            advice = "make it readable for this account."
        else:
            # Do not show the text of a validation error, because it quotes values from the file.
            reason = "it is damaged"
            advice = "restore it, or move it away and make new keys with `prefrag keys add`."
        raise BadInput(f"The key file {path} cannot be read ({reason}): {advice}") from error


def _read_document(document: dict[str, object]) -> tuple[Key, ...]:
    """Read the keys in a document from Elasticsearch. An empty document has no keys."""
    try:
        return _KeysFile.model_validate_json(json.dumps(document)).keys
    except ValueError as error:
        raise BadInput(
            f"The keys in the Elasticsearch index {KEY_INDEX} are damaged: delete the index and make new keys with "
            "`prefrag keys add`."
        ) from error


def _change(change: Callable[[tuple[Key, ...]], tuple[Key, ...]]) -> tuple[Key, ...]:
    """Change the stored keys. Two processes cannot change them at the same time.

    Processes that only read get either all of the old keys or all of the new ones. ``change`` takes the old keys and
    returns the new ones. It may be called several times.
    """
    if are_shared():
        index = KeyIndex()
        for _ in range(_ATTEMPTS):
            document, version = index.read()
            keys = change(_read_document(document or {}))
            if index.replace(_KeysFile(keys=keys).model_dump(mode="json"), version):
                return keys
        raise Busy("Somebody else is changing the keys right now: run the command again.")

    path = keys_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(path.with_name(f"{path.name}.lock"), _LOCK_SECONDS, "changing the keys"):
            keys = change(read_keys())
            write_private(path, f"{_KeysFile(keys=keys).model_dump_json(indent=2)}\n")
    except Missing:
        raise
    except OSError as error:
        raise BadInput(f"The key file {path} cannot be written: {error.strerror}.") from error
    return keys
