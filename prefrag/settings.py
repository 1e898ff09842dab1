"""The settings: all environment variables that the application reads.

Each attribute of ``settings`` reads its variable at the moment of use. For example, ``settings.run_seconds`` reads
``PREFRAG_RUN_SECONDS``. ``models["llm"]`` and ``models["judge"]`` have the settings of the two models. The description
of each setting says what its values mean. ``make docs`` writes the tables of docs/configuration.md from this file.
"""

import difflib
import os
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

from prefrag.errors import BadInput
from prefrag.setting_types import (
    SECRETS,
    Address,
    Count,
    CountFromZero,
    Keys,
    LimitedSeconds,
    LogForm,
    Names,
    Percent,
    Place,
    Ready,
    ReplyFormat,
    Seconds,
    Secret,
    State,
    Structured,
    Switch,
    Text,
    Thinking,
    Tokens,
    WebQueries,
    WebSetting,
)

# The secrets that were copied from files into the environment, by the name of the variable. Haystack reads them there.
_shared: dict[str, str] = {}


def _setting(default: Any, sentence: str, shown: str = "", wrong: Any = None, alias: str | None = None) -> Any:
    """Describe a setting.

    :param default: The value if the variable is not set.
    :param sentence: The description in the docs.
    :param shown: What the docs show as the default. "" shows ``default``.
    :param wrong: The value that is used if the value in the environment is invalid. None raises an error instead.
    :param alias: The name of the variable. None stands for the prefix of the table and the name of the setting.
    :returns: The pydantic field.
    """
    extra = {"shown": shown, "wrong": wrong}
    return Field(default, description=sentence, validation_alias=alias, json_schema_extra=extra)


class ModelSettings(BaseSettings):
    """The settings of one model: the one that answers, or the one that judges."""

    base_url: Text = _setting(
        "",
        "the server of the model that reasons, answers and judges. It must speak the OpenAI protocol. You may set "
        "another server for the judge, for example one with a model tuned for judging",
        "the model that you chose when `prefrag` asked ([the command line](command_line.md)). Without one, a small "
        "extractive reader answers. The default judge is the model that answers",
    )
    model: Text = _setting("", "the name of the model on that server", "none")
    api_key: Secret = _setting("", "the key of that server", "none")
    gguf: Text = _setting(
        "", "a GGUF file that llama.cpp runs in this process (extra `llama`), if no server is set", "none"
    )
    adapter: Text = _setting("", "a LoRA adapter for that file, itself a GGUF file", "none")
    threads: Tokens = _setting(
        None,
        "the processor threads that run that file. They wait by running, so a thread too many on a busy machine slows "
        "all of them many times over",
        "one less than the processor's cores, and at least one",
    )
    context: Tokens = _setting(
        None,
        "the model's context window in tokens. Prompts that do not fit are cut, the oldest passages first. The trace "
        "shows this",
        "the window that the server states (vLLM, llama.cpp, Ollama), which you can only lower; else 8192, or 4096 for "
        "GGUF and Ollama",
    )
    max_tokens: Tokens = _setting(
        None,
        "the maximum number of tokens in a reply, including thinking. It overrides `max_tokens` of the YAML. A model "
        "that thinks needs 4000 or more, and a context window with room for them",
        "512 in the shipped YAML",
    )
    thinking: Thinking = _setting(
        None,
        "whether the model thinks, if its chat template lets you choose (`chat_template_kwargs: {enable_thinking: "
        "...}`; vLLM, SGLang, llama.cpp)",
        "nothing is sent",
    )
    structured: Structured = _setting("json_schema", "how the server is asked to constrain replies to JSON")
    format: ReplyFormat = _setting(
        None,
        "how `reply_format: auto` lets the model reply: `text` suits able models, `steps` small ones, which read "
        "after the first search and after the last",
        "four short tasks, tried once with each model, decide; before that, the size of the model",
    )
    seconds: LimitedSeconds = _setting(
        None,
        "the seconds that one call may take, including retries",
        "600 for a model on this machine or a host in `PREFRAG_LOCAL_HOSTS`, else 120",
    )


class _JudgeSettings(ModelSettings):
    """The settings of the model that judges."""

    model_config = SettingsConfigDict(env_prefix="PREFRAG_JUDGE_")


class _LlmSettings(ModelSettings):
    """The settings of the model that answers."""

    model_config = SettingsConfigDict(env_prefix="PREFRAG_LLM_")


class _Models(BaseSettings):
    """Further settings about models."""

    gold_api_key: Secret = _setting(
        "", "the key of the stronger model that labels training data ([training](training.md))", "none"
    )
    remote_model: Switch = _setting(
        True,
        "`off` refuses every pipeline with a model, judge, embedder or ranker that is neither on this machine nor on a "
        "host in `PREFRAG_LOCAL_HOSTS`",
        wrong=False,
    )
    local_hosts: Names = _setting(
        (),
        "hosts that count as local, for example `gpu-server,*.corp.example,10.0.0.0/8` (names, domains, addresses, "
        "networks)",
        "none",
    )
    pair_classifier: Text = _setting(
        "",
        "the folder of a transformer model to use as DR-RAG's pair classifier (extra `classifier`)",
        "the shipped boosted decision trees",
    )


class _Documents(BaseSettings):
    """The settings about documents and where they are stored."""

    data_dir: Place = _setting(
        None, "the folder for collections, keys, feedback and uploaded documents", "`~/.local/share/prefrag`"
    )
    index: Text = _setting(
        "",
        "the name of the collection to search",
        "`default` if it exists. Else, if `prefrag FOLDER` has followed exactly one folder, its collection. Else the "
        "demo. `serve` uses the demo only with `--demo`, or if you set `demo` here",
    )
    elasticsearch_url: Text = _setting(
        "http://127.0.0.1:9200",
        "the address of Elasticsearch, for the pipelines that search it. For a cluster, give several nodes, separated "
        "by commas; if one does not answer, another is called",
        "`http://127.0.0.1:9200`",
    )
    elasticsearch_ca: Place = _setting(
        None, "the CA certificates (PEM) with which to check Elasticsearch over https", "the system's certificates"
    )
    elasticsearch_cert: Place = _setting(None, "this machine's certificate (PEM) for Elasticsearch", "none")
    elasticsearch_key: Place = _setting(None, "the private key of that certificate", "none")
    elasticsearch_shards: Count = _setting(1, "how many shards a new collection gets in Elasticsearch")
    elasticsearch_replicas: CountFromZero = _setting(1, "how many copies of each shard other nodes keep")
    elasticsearch_api_key: Secret = _setting("", "the API key of Elasticsearch", "none")
    elasticsearch_api_key_id: Secret = _setting("", "the id of that key, if the key does not contain it", "none")
    current_first: Switch = _setting(
        True,
        "`off` leaves the passages of a source in the order of their scores. Otherwise superseded, draft and old "
        "passages come last, and the newer of two equally good passages comes first",
    )


class _Web(BaseSettings):
    """The settings about web search."""

    web: WebSetting = _setting(
        None,
        "`on` allows web search for every collection, `off` forbids it. With `ask`, `prefrag ask` shows each query at "
        "the terminal and asks you before it is sent; where nobody can be asked, no query is sent",
        "the choice that is stored with the collection (`prefrag index --web`), else `off`",
        wrong="off",
    )
    web_queries: WebQueries = _setting(
        "question",
        "what is sent to a web search outside this machine if no language model writes the query. `question` sends "
        "what you typed, and also the previous question if yours is a follow-up. `names` sends the question first (a "
        "follow-up as it was rewritten), then queries with names from the passages, also where the question was held "
        "back or refused",
        wrong="question",
    )
    web_hold_names: Switch = _setting(
        False,
        "`on` holds back each web query of which most words are names and numbers from passages and not from the "
        "question. A model then finds less over several steps",
        wrong=True,
    )
    web_index: Text = _setting("", "the name of a collection to search instead of the web", "none")


class _Service(BaseSettings):
    """The settings about pipelines and about the server."""

    pipelines_dir: Place = _setting(
        None, "a folder with pipelines of your own, and the Python modules of their components", "none"
    )
    serve: Names = _setting((), "the pipelines that `serve` offers: names or YAML files, or `all`", "`prefrag`")
    wrappers_dir: Place = _setting(
        None,
        "a folder with Hayhooks wrappers. If set, `serve` offers them by default instead of the pipeline `prefrag`",
        "none",
        alias="HAYHOOKS_PIPELINES_DIR",
    )
    run_seconds: Seconds = _setting(
        600.0,
        "the seconds that a question may take, including all its calls and the wait for its turn. `--deadline` of "
        "`ask` and `serve` sets it, and a request may shorten it (`deadline`). Allow more for a slow model",
    )
    # One process answers about 25 questions a second. A higher number of questions at once only makes each slower.
    max_runs: Count = _setting(64, "how many questions one process answers at once")
    max_waiting: CountFromZero = _setting(
        256, "how many more questions may wait for their turn; the others get status 503 and `Retry-After`"
    )
    share: Percent = _setting(
        50,
        "how much one key may use while other keys are in use: the maximum percentage of `PREFRAG_MAX_RUNS`, of "
        "`PREFRAG_MAX_WAITING`, and of the uploads and deletions at the same time. With 50, a key may use "
        "as much as it leaves free. With 100, there is no limit",
    )
    # One process answers about 1,500 questions a minute, which is half of the default.
    requests_a_minute: CountFromZero = _setting(
        3000, "the maximum number of requests with one key in a minute, for each process; 0 means no limit"
    )
    drain_seconds: CountFromZero = _setting(
        25,
        "the seconds that runs may continue after the server gets the signal to stop. Wait longer than this before you "
        "kill it; Docker waits 10 by default",
    )
    lame_duck_seconds: CountFromZero = _setting(
        0,
        "how many seconds the server still takes requests after the signal to stop. Meanwhile `/ready` returns 503, so "
        "that load balancers send no more. Set more than the time between two probes of `/ready`. No effect on Windows",
    )
    ready: Ready = _setting(
        "all",
        "what `/ready` checks: `all` stands for the collections and the model servers, `index` for the collections "
        "only. With `index`, this service stays in its load balancer when a model server is down",
    )
    collections: Names = _setting(
        (),
        "the collections that a request may name (`collection`) besides the one that is served, or `all` for all in "
        "`PREFRAG_DATA_DIR`. `--collections` of `serve` sets it",
        "none",
    )
    follow_links: Switch = _setting(
        False,
        "`on` lets `prefrag FOLDER` and `prefrag index FOLDER` read what symbolic links in the folder lead to outside "
        "it",
        wrong=False,
    )
    max_upload_bytes: Count = _setting(50_000_000, "the maximum size of one upload of documents, in bytes")
    upload_bytes_a_day: CountFromZero = _setting(
        5_000_000_000, "the maximum bytes that one key may upload in a day, for each process; 0 means no limit"
    )
    max_collections: Count = _setting(100, "the maximum number of collections that uploads may create")
    max_collection_bytes: Count = _setting(2_000_000_000, "the maximum size of all uploads in a collection, in bytes")
    max_collection_files: Count = _setting(5_000, "the maximum number of uploaded files in a collection")
    originals: Switch = _setting(
        False,
        "`on` also sends the files of documents to clients on other machines, as far as their keys allow; clients on "
        "this machine always get them",
        wrong=False,
    )
    state: State = _setting(
        "files",
        "where keys, feedback and the list of uploads are kept: `files` in `PREFRAG_DATA_DIR`, or "
        "`elasticsearch`, where all servers with this setting share them ([one machine, several "
        "machines](operating.md))",
    )
    keys_file: Place = _setting(
        None,
        "the file with the keys that `prefrag keys add` makes. If you set it and the file is missing, no request is "
        "answered",
        "`keys.json` in `PREFRAG_DATA_DIR`",
    )
    api_keys: Keys = _setting(
        (),
        "further keys, in clear text. They may read every collection and use the web, but write nothing. To listen on "
        "addresses other than loopback, the server needs a key, from here or from `PREFRAG_KEYS_FILE`",
        "none",
    )
    require_key: Switch = _setting(
        False, "`on` requires a key on this machine too, even if no key exists yet", wrong=True
    )
    audit_log: Place = _setting(
        None,
        "the file that gets a [line](serving.md#the-audit-log) before anything leaves this machine. Its folder must "
        "exist. If the file cannot be written, nothing leaves",
        "no audit log",
    )
    audit_queries: Switch = _setting(True, "`off` writes only SHA-256 hashes of queries to the audit log", wrong=False)
    auto_trace: Switch = _setting(
        False,
        "`on` traces runs if OpenTelemetry or Datadog is set up (for `serve`, `OTEL_EXPORTER_OTLP_ENDPOINT` is "
        "enough). If a program or a YAML enables a tracer itself, runs are traced even with `off`",
        wrong=False,
        alias="HAYSTACK_AUTO_TRACE_ENABLED",
    )
    trace_content: Switch = _setting(
        False, "`on` also sends Haystack's own spans, which contain questions and answers", wrong=False
    )
    log: LogForm = _setting(
        "text", "`json` writes the log of `serve` as one JSON object per line, with a line for each run"
    )
    metrics_port: Address = _setting(
        None,
        "a port for `/metrics` that needs no key. Without HOST, only this machine can reach it. No effect on Windows",
        "none",
    )
    cors_origins: Names = _setting((), "the origins of web pages that may call the server (CORS)", "none")
    open_deploy: Switch = _setting(
        False,
        "`on` opens Hayhooks' routes for deploying pipelines. They run any code that a request contains",
        wrong=False,
    )
    debug: Switch = _setting(False, "`on` makes the command line show where in the code an error arose", wrong=False)


class Settings(_Models, _Documents, _Web, _Service):
    """All settings except those of a single model, which :class:`ModelSettings` has."""

    model_config = SettingsConfigDict(env_prefix="PREFRAG_")


# The tables of settings, by their headings in docs/configuration.md.
SECTIONS: dict[str, type[BaseSettings]] = {
    "Models": _Models,
    "Documents": _Documents,
    "The web": _Web,
    "Pipelines and service": _Service,
}
# The classes with all settings.
_TABLES: tuple[type[BaseSettings], ...] = (Settings, _LlmSettings, _JudgeSettings)


class _WhenUsed:
    """Reads each setting at the moment of use, because tests, commands and experiments change the environment."""

    def __init__(self, table: type[BaseSettings]):
        self._table = table

    def __getattr__(self, name: str) -> Any:
        """Return the value of a setting. Raise :class:`BadInput` if it is invalid and has no value for this case."""
        try:
            return _read(self._table, name)
        except BadInput:
            wrong = cast(dict[str, Any], self._table.model_fields[name].json_schema_extra)["wrong"]
            if wrong is None:
                raise
            return wrong


# The settings of the application.
settings = cast(Settings, _WhenUsed(Settings))
# The settings of the two models, by the role of the model.
models = {
    role: cast(ModelSettings, _WhenUsed(table)) for role, table in (("llm", _LlmSettings), ("judge", _JudgeSettings))
}


@cache
def _variable_of(table: type[BaseSettings], name: str) -> str:
    """Return the name of the variable of a setting, such as "PREFRAG_RUN_SECONDS" for "run_seconds"."""
    alias = table.model_fields[name].validation_alias
    return str(alias) if alias else f"{table.model_config['env_prefix']}{name}".upper()


def _allowed(field: FieldInfo) -> str:
    """Return the words that say which values a setting may have, such as "on or off"."""
    return next(part for part in field.metadata if isinstance(part, str))


def _read(table: type[BaseSettings], name: str) -> Any:
    """Read the value of a setting from the environment. Raise :class:`BadInput` if the value is invalid."""
    field = table.model_fields[name]
    variable = _variable_of(table, name)
    is_secret = _allowed(field) in SECRETS
    text = _read_text(variable, is_secret)
    if text is None:
        return field.default
    try:
        return _adapter(table, name).validate_python(text)
    except ValidationError:
        shown = "" if is_secret else f" is '{text}'"
        raise BadInput(f"{variable}{shown}: set it to {_allowed(field)}, or unset it.") from None


def check_settings(own: Collection[str] = ()) -> list[str]:
    """Check all settings, even those that this process does not read.

    :param own: The names of the variables that a user's own pipelines read. They cause no warning.
    :returns: A warning for each variable that begins with "PREFRAG_" but is no setting. It names the most similar
        setting.
    :raises BadInput: If a setting has an invalid value.
    """
    variables = []
    for table in _TABLES:
        for name, field in table.model_fields.items():
            _read(table, name)
            variable = _variable_of(table, name)
            variables.append(variable)
            if _allowed(field) in SECRETS:
                variables.append(f"{variable}_FILE")

    known_variables = {*variables, *own}
    names_without_prefix = [variable.removeprefix("PREFRAG_") for variable in variables]
    warnings = []
    set_variables = [variable for variable in os.environ if variable.upper().startswith("PREFRAG_")]
    for variable in sorted(set_variables):
        if variable in known_variables or variable.startswith("PREFRAG_TEST_"):
            continue
        # The prefix may be in small letters, so it is cut off by its length.
        name_without_prefix = variable[len("PREFRAG_") :].upper()
        near = difflib.get_close_matches(name_without_prefix, names_without_prefix, n=1)
        if near:
            warnings.append(f"{variable} is not a setting: did you mean PREFRAG_{near[0]}?")
        else:
            warnings.append(f"{variable} is not a setting.")
    return warnings


def read_secrets() -> list[str]:
    """Read all secrets, so that callers can remove them from what clients see.

    :returns: The values of all settings that are secrets.
    :raises BadInput: If a secret has an invalid value.
    """
    secrets: list[str] = []
    for table in _TABLES:
        for name, field in table.model_fields.items():
            if _allowed(field) in SECRETS:
                value = _read(table, name)
                if isinstance(value, str):
                    secrets.append(value)
                else:
                    # A setting such as the API keys has several secrets.
                    secrets += value
    return [secret for secret in secrets if secret]


def export_secrets() -> None:
    """Copy the secrets of Elasticsearch from files into the environment. Haystack's document stores read them there.

    :raises BadInput: If a file cannot be read.
    """
    for variable in ("PREFRAG_ELASTICSEARCH_API_KEY", "PREFRAG_ELASTICSEARCH_API_KEY_ID"):
        if f"{variable}_FILE" in os.environ:
            text = _read_text(variable, is_secret=True)
            if text:
                os.environ[variable] = text
                _shared[variable] = text


def _read_text(variable: str, is_secret: bool) -> str | None:
    """Read the text of a variable, or of the file that a secret may be in.

    :param variable: The name of the variable. For a secret, the variable with "_FILE" added may have the path of a
        file.
    :param is_secret: Whether the variable is a secret.
    :returns: The text without white space at its ends; None if the variable is not set.
    :raises BadInput: If the file cannot be read or is empty, or if both variables are set.
    """
    text = os.environ.get(variable, "")
    file = os.environ.get(f"{variable}_FILE", "").strip() if is_secret else ""
    if file:
        if text and text != _shared.get(variable):
            raise BadInput(f"{variable} and {variable}_FILE are both set: unset one of them.")
        try:
            text = Path(file).expanduser().read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
            raise BadInput(f"{variable}_FILE is '{file}', which cannot be read ({why}): correct it.") from error
        if not text:
            raise BadInput(f"{variable}_FILE is '{file}', which is empty: write the secret into it.")

    # A setting that has only blanks counts as not set. A secret that has only blanks is a mistake of the user.
    is_set = text if is_secret else text.strip()
    return text.strip() if is_set else None


@cache
def _adapter(table: type[BaseSettings], name: str) -> TypeAdapter[Any]:
    """Return what pydantic checks the value of a setting with."""
    field = table.model_fields[name]
    return TypeAdapter(Annotated[field.annotation, *field.metadata])  # type: ignore[arg-type]
