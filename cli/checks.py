"""The checks of `prefrag doctor`.

Each check returns findings. A finding says whether a part of the installation works and, if it does not, what to do.
:func:`examine` runs all checks. A check that fails does not stop the others.
"""

from __future__ import annotations

import asyncio
import errno
import importlib.util
import os
import platform
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import httpx
from dotenv import dotenv_values, find_dotenv

from prefrag import pipelines
from prefrag.audit_log import AuditLogFailed, audit_log, check_audit_log
from prefrag.cli.env_file import find_unknown_settings
from prefrag.cli.errors import find_exit_code
from prefrag.cli.kept_model import Choice, read_choice
from prefrag.cli.local_servers import find_local_servers, list_models
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.index_name import name_index
from prefrag.components.document_stores.tantivy.index_location import (
    DEFAULT_INDEX,
    DEMO_INDEX,
    data_directory,
    explain_closed_data,
    find_open_entries,
    suggest_indexes,
)
from prefrag.components.generators.ability_probe import AbilityProbe
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.generators.context_window import get_json, read_facts
from prefrag.components.generators.json_reply import read_object
from prefrag.components.generators.model_host import is_local
from prefrag.components.generators.model_server import ModelServer
from prefrag.components.generators.reasoning_blocks import FILED_AS_REASONING, strip_reasoning
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
from prefrag.components.parts import find_stores, is_elasticsearch_store, is_tantivy_store, walk_parts
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.web_switch import web_setting
from prefrag.components.text.counted import counted
from prefrag.errors import Missing
from prefrag.evaluation.prove.proof import say_kept
from prefrag.pipelines.wiring import find_empty_stores
from prefrag.settings import models, settings
from prefrag.tracing import sent_to_tracing
from prefrag.version import find_version

# "ok": the part works. "note": something that the user should know. "problem": `prefrag ask` will not work.
Status = Literal["ok", "note", "problem"]

# The modules of each extra of the package. An extra counts as installed if all of its modules can be imported.
_EXTRAS = {
    "files": ("pypdfium2", "trafilatura", "markdown_it", "mdit_plain", "docx", "pptx", "openpyxl", "docutils"),
    "mcp": ("mcp",),
    "llama": ("xllamacpp",),
    "dense": ("sentence_transformers", "lancedb", "torch"),
    "classifier": ("transformers", "torch", "onnx"),
    "evaluation": ("matplotlib",),
    "trees": ("xgboost",),
    "train": ("trl", "peft", "torch", "xgboost"),
    "telemetry": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
    "ray": ("ray",),
    "vllm": ("vllm",),
}
# The next four time limits are short, because somebody waits at the terminal. This is the limit, in seconds, for asking
# a model server for the list of its models.
_LIST_SECONDS = 5.0
# The time limit for a reply of a model, in seconds.
_CALL_SECONDS = 30.0
# The time limit for a web search, in seconds.
_WEB_SECONDS = 20.0
# The time limit for asking `/ready` of `prefrag serve`, in seconds. It is longer than the 3 seconds that `/ready` may
# itself wait for Elasticsearch and the model servers.
_SERVE_SECONDS = 4.0
# A model that thinks before it replies needs at least this limit, in tokens. With less, it may stop before it replies.
_TOKENS_TO_THINK = 4000
# The limit of a reply in the shipped YAML, in tokens. It applies if the environment sets no limit.
_YAML_REPLY_TOKENS = 512
# A message lists at most this many models of a server, or entries of the data folder.
_MAX_MODELS = 5
# The schema of a short reply, to check whether a model server makes a model follow a schema.
_SCHEMA = {
    "type": "object",
    "properties": {"wet": {"type": "boolean"}},
    "required": ["wet"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Finding:
    """A result of a check."""

    # What was checked, such as "model" or "index".
    part: str
    status: Status
    # What was found, as a sentence.
    text: str
    # What to do about it. Empty if there is nothing to do.
    advice: str = ""
    # The exit code that `prefrag ask` would have because of this. 0 if it would work.
    exit_code: int = 0


async def examine(name: str, port: int, online: bool) -> list[Finding]:
    """Run all checks.

    :param name: The name of the pipeline to check, or the path of its YAML file.
    :param port: The port at which `prefrag serve` may be running.
    :param online: Whether to try a web search, if web search is allowed.
    :returns: The findings, in the order in which they are printed.
    """
    findings = [_check_versions(), _check_data(), *_check_settings(name)]
    stores: list[Any] = []
    try:
        pipeline = pipelines.load(name)
        # List the stores before the pipeline is opened. An open web retriever may contain a further store, which is
        # searched in place of the web.
        stores = find_stores(pipeline)
        embedded = {(store.path, store.index): store for store in stores if is_tantivy_store(store)}
        findings += await asyncio.gather(*(asyncio.to_thread(_check_index, store) for store in embedded.values()))
        findings += await asyncio.to_thread(_check_proofs, list(embedded.values()))
        findings.append(await asyncio.to_thread(_warm_up, name, pipeline))
        empty = await asyncio.to_thread(find_empty_stores, pipeline)
        findings += [Finding("pipeline", "problem", text, exit_code=Missing.exit_code) for text in empty]
    except Exception as error:
        findings.append(_explain("pipeline", f"{name} cannot be loaded: ", error))
    else:
        checks = [_check_models(pipeline), _check_judge(pipeline), _check_web(pipeline, online), _check_servers(stores)]
        for check_findings in await asyncio.gather(*checks):
            findings += check_findings
    return [*findings, _check_extras(), _check_keys(stores), await _check_serve(port)]


def _explain(part: str, lead: str, error: Exception) -> Finding:
    """Make the finding of an error. Its text is ``lead`` and then the message of the error."""
    shown = explain_closed_data(error)
    return Finding(part, "problem", f"{lead}{shown}", exit_code=find_exit_code(shown))


def _check_versions() -> Finding:
    packages = ("haystack-ai", "hayhooks", "tantivy")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    return Finding("version", "ok", f"prefrag {find_version()}, Python {platform.python_version()}, {versions}")


def _check_data() -> Finding:
    """Check whether the data folder can be read and written to, and whether other users can read it."""
    folder = data_directory()
    own = [place for place in (folder, folder / "indexes") if os.path.exists(place)]
    closed = [place for place in own if not os.access(place, os.R_OK | os.X_OK)]
    if closed:
        return _explain("data", "", PermissionError(errno.EACCES, "", str(closed[0])))

    # The data folder or, if it does not exist yet, the innermost existing folder above it.
    place = next(place for place in (folder, *folder.parents) if os.path.exists(place))
    readable = find_open_entries()
    if readable:
        names = ", ".join(path.name for path in readable[:_MAX_MODELS])
        text = f"Other users of this machine can read the data folder {folder}: {names}"
        return Finding("data", "note", text, f"To keep it private: chmod -R go= {shlex.quote(str(folder))}")

    if os.access(place, os.W_OK):
        return Finding("data", "ok", f"The data folder is {folder}")
    advice = "To index documents or use the demo, set PREFRAG_DATA_DIR to a folder that you can write to."
    return Finding("data", "note", f"{folder} cannot be written to", advice)


def _check_settings(name: str) -> Iterator[Finding]:
    """Check for misspelt settings and an ignored ``.env`` file. Say where traces and the audit log go."""
    try:
        yield from (Finding("settings", "note", unknown) for unknown in find_unknown_settings(Path(name)))
    except ValueError as error:
        yield _explain("settings", "", error)

    file = find_dotenv(usecwd=True)
    if file:
        named = (variable for variable in dotenv_values(file) if variable.startswith("PREFRAG_"))
        unread = [variable for variable in named if variable not in os.environ]
        if unread:
            text = f"{file} sets {', '.join(unread)}, but `prefrag ask`, `chat` and `index` do not read that file"
            yield Finding("settings", "note", text, "Export them as environment variables for these commands.")

    if settings.auto_trace or sent_to_tracing():
        what = "with questions and answers" if settings.trace_content else "without questions, passages or answers"
        yield Finding("tracing", "note", f"Spans go to every OpenTelemetry tracer that is set up, {what}")

    log = audit_log()
    if log:
        try:
            open_to_others = check_audit_log()
        except AuditLogFailed as error:
            yield Finding("audit log", "note", str(error))
        else:
            written = f"What leaves this machine is written to {log}"
            yield Finding("audit log", "note" if open_to_others else "ok", open_to_others or written)


def _check_index(store: Any) -> Finding:
    """Check whether an index on this machine can be searched, and say what it contains."""
    name = name_index(store)
    way = "prefrag index YOUR_FILES" + ("" if name in (DEFAULT_INDEX, DEMO_INDEX) else f" --collection {name}")
    try:
        store.check()
        count = store.count_documents()
        vectors = (store.locate() / "vectors").is_dir()
    except FileNotFoundError as error:
        return Finding("index", "problem", str(error), suggest_indexes(name).strip(), Missing.exit_code)
    except Exception as error:
        return _explain("index", f"{name} cannot be searched: ", error)
    text = f"{name} contains {counted(count, 'passage')}{' and vectors for dense retrieval' if vectors else ''}"
    if name == DEMO_INDEX:
        return Finding("index", "note", f"{text}, the demo's invented documents", f"To index your own: {way}")
    if not count:
        return Finding("index", "note", text, f"Fill it with: {way}")
    return Finding("index", "ok", text)


def _check_proofs(stores: Sequence[Any]) -> list[Finding]:
    """Say, for each collection, how often answers given as "Stated" were wrong when `prefrag prove` measured this."""
    findings = []
    for text in (say_kept(LocalCollection(name_index(store))) for store in stores if store.path is None):
        if text:
            findings.append(Finding("proof", "note" if "; again: " in text else "ok", text))
    return findings


def _warm_up(name: str, pipeline: Any) -> Finding:
    """Check whether a loaded pipeline starts."""
    try:
        pipeline.warm_up()
    except Exception as error:
        return _explain("pipeline", f"{name} does not start: ", error)
    return Finding("pipeline", "ok", f"{name} is loaded")


async def _check_models(pipeline: Any) -> list[Finding]:
    """Check the model that answers. A model that only judges is checked elsewhere."""
    model = next((model for model in _find_models(pipeline) if not model.is_named_for_judging), None)
    if model is None:
        return []
    if model.is_absent:
        return [await asyncio.to_thread(_report_absence, pipeline)]
    if model.is_embedded:
        findings = [Finding("model", "ok", f"{models['llm'].gguf} runs in this process")]
    else:
        findings = await _check_model("model", model)
    if any(finding.status == "problem" for finding in findings):
        return findings
    return [*findings, await _check_format(model)]


async def _check_format(model: ChatModel) -> Finding:
    """Say in which format the model replies and why. A model that was never tried is tried first."""
    failure = ""
    if model.is_format_guessed:
        try:
            await AbilityProbe(model).try_async()
        except Exception as error:
            failure = f". It could not be tried: {error}"
    text = f"Format {model.reply_format}: {model.format_reason}{failure}"
    return Finding("model", "note" if failure else "ok", text)


def _find_models(pipeline: Any) -> list[ChatModel]:
    return [part for _, part in walk_parts(pipeline) if isinstance(part, ChatModel)]


def _report_absence(pipeline: Any) -> Finding:
    """Say that no language model is set, and name model servers on this machine. This is a problem only if needed."""
    servers = find_local_servers()
    programs = "; ".join(
        f"{server.program} at {server.base_url} ({', '.join(server.models[:_MAX_MODELS])})" for server in servers
    )
    advice = "Set PREFRAG_LLM_BASE_URL and PREFRAG_LLM_MODEL to a model server"
    advice += f". On this machine: {programs}." if programs else "; none was found at the usual ports of this machine."
    advice += " Or fetch a model: prefrag model get"
    if any(getattr(part, "is_extractive", False) for _, part in pipeline.walk()):
        return Finding("model", "note", "No language model is set: an extractive reader answers instead", advice)
    return Finding(
        "model", "problem", "No language model is set, and this pipeline needs one", advice, Missing.exit_code
    )


async def _check_model(part: str, model: ChatModel) -> list[Finding]:
    """Check whether a model server answers, whether it knows the model, and how the model replies."""
    try:
        server = model.server
        assert server is not None
        probe = AbilityProbe(model, _CALL_SECONDS)
        listed = await _list_models(server)
        began = time.monotonic()
        await probe.ask_async("Reply with OK.", max_tokens=1)
        seconds = time.monotonic() - began
        # Ollama tells its context window only now, when the model is loaded. So ask again.
        server.record.silent_until = 0.0
        await asyncio.to_thread(read_facts, server)
        place = f"{server.model} at {server.address}"
        if read_choice() == Choice(server.base_url, server.model):
            place += ", as you chose (change it with `prefrag model use`),"
        findings = [Finding(part, "ok", f"{place} replies in {seconds:.1f} s; {_explain_window(model, server)}")]
        if not is_local(model.model_host):
            advice = "Add your own hosts to PREFRAG_LOCAL_HOSTS, or forbid remote models with PREFRAG_REMOTE_MODEL=off."
            findings.append(Finding(part, "note", f"Every passage goes to {model.model_host}", advice))

        if listed and server.model not in listed:
            text = f"The server lists {', '.join(listed[:_MAX_MODELS])}, but not {server.model}"
            findings.append(Finding(part, "note", text))
        return findings + await _check_replies(part, model, probe)
    except Exception as error:
        return [_explain(part, "" if str(error) else f"No reply within {_CALL_SECONDS:g} s", error)]


async def _check_replies(part: str, model: ChatModel, probe: AbilityProbe) -> list[Finding]:
    """Ask a short question, and say if the reply shows a problem: no text, too few tokens, or the wrong form."""
    reply = await probe.ask_async(
        "Is water wet? Answer in one short English sentence.",
        max_tokens=64,
        response_format={"type": "json_schema", "json_schema": {"name": "wet", "schema": _SCHEMA, "strict": True}},
    )
    text = strip_reasoning(reply.text or "")
    prefix = model.limit_setting.removesuffix("MAX_TOKENS")
    if reply.meta.get("filed_as_reasoning"):
        return [Finding(part, "problem", FILED_AS_REASONING, exit_code=1)]

    if not text and reply.meta.get("finish_reason") == "length":
        limit = model.reply_limit or _YAML_REPLY_TOKENS
        if limit >= _TOKENS_TO_THINK:
            return [Finding(part, "ok", f"It thinks before it replies; {limit:,} tokens leave room for that")]
        advice = f"Set {model.limit_setting} to {_TOKENS_TO_THINK} or more, or {prefix}THINKING=off."
        text = f"It thinks before it replies, and {limit:,} tokens may be too few for that"
        return [Finding(part, "note", text, advice)]

    if model.structured_output == "json_schema" and not isinstance(read_object(text), dict):
        advice = f"Set {prefix}STRUCTURED to json_object or off."
        return [Finding(part, "note", "The server does not make replies follow a JSON schema", advice)]
    return []


def _explain_window(model: ChatModel, server: ModelServer) -> str:
    """Say how many tokens of context the model may use, and how that is known."""
    stated, used = server.record.window, model.context_window
    setting = f"{model.limit_setting.removesuffix('MAX_TOKENS')}CONTEXT"
    if stated is None:
        usual = ", Ollama's usual number" if server.record.is_ollama else ""
        assumed = f"assumed{usual} (if this is wrong, set {setting})"
        how = f"used, as {setting} says" if model.has_context_setting else assumed
        return f"its server states no context window, so {used:,} tokens are {how}"
    why = f", as {setting} says" if used < stated else ""
    return f"it may use {used:,} of the {stated:,} tokens of context that its server states{why}"


async def _list_models(server: ModelServer) -> list[str]:
    """Return the names of the models that a server lists. Empty if it lists none."""
    # Ignore errors. Not every server lists its models, and the next check shows whether the server replies.
    with suppress(httpx.HTTPError, TimeoutError, ValueError, RecursionError):
        url = f"{server.base_url.rstrip('/')}/models"
        content = await asyncio.to_thread(get_json, url, server.api_key, _LIST_SECONDS)
        return [model["id"] for model in list_models(content)]
    return []


async def _check_judge(pipeline: Any) -> list[Finding]:
    """Say what judges whether documents suffice. If a separate model is set for judging, check its server."""
    named = [model for model in _find_models(pipeline) if model.is_named_for_judging]
    judging = [part for _, part in walk_parts(pipeline) if isinstance(part, SourceSwitchJudge)]
    if named and not named[0].is_embedded:
        return await _check_model("judge", named[0])
    if named:
        return [Finding("judge", "ok", f"{models['judge'].gguf} judges in this process")]
    if not judging:
        return []

    parts = [part for _, part in walk_parts(judging[0])]
    trees_first = [part for part in parts if hasattr(part, "has_passed")]
    if trees_first:
        asked = any(part.has_passed for part in trees_first)
        absent = all(part.model_judge.call.is_absent for part in trees_first)
        untried = "without a model" if absent else "and no model, as none has passed its trial"
        model = "and the model where they are unsure" if asked else untried
        return [Finding("judge", "ok", f"Decision trees judge, {model}")]
    can_judge = any(getattr(part, "can_judge", False) for part in parts)
    return [Finding("judge", "ok", "The model judges" if can_judge else "Decision trees judge, without a model")]


async def _check_web(pipeline: Any, online: bool) -> list[Finding]:
    """Check each external source, such as the web."""
    sources = [part for _, part in walk_parts(pipeline) if isinstance(part, RetrievalSource) and part.external]
    named = {source.name: source for source in sources}
    find_closed = getattr(pipeline.get_component("start"), "closed_sources", lambda: ((), ""))
    closed, reason = await asyncio.to_thread(find_closed) if sources else ((), "")
    return [await _check_source(source, online, reason if name in closed else "") for name, source in named.items()]


async def _check_source(source: RetrievalSource, online: bool, why_closed: str) -> Finding:
    """Say whether an external source is searched. If ``online`` is true and it may be searched, try a search."""
    if why_closed:
        return Finding(source.name, "ok", why_closed[0].upper() + why_closed[1:])
    if not source.leaves_machine:
        text = "A local index is searched instead of the web, so no query leaves this machine"
        return Finding(source.name, "ok", text)

    provider = getattr(source.retriever, "provider", type(source.retriever).__name__)
    asks = ", each after you agree at the terminal" if web_setting() == "ask" else ""
    text = f"Questions may go to the web ({provider}){asks}"
    if not online or asks:
        return Finding(source.name, "ok", text, "" if online else "To check whether the web answers, use --online.")
    try:
        async with asyncio.timeout(_WEB_SECONDS):
            result = await asyncio.to_thread(source.retriever.run, query="weather")
    except Exception as error:
        advice = "Runs go on without the web. Check whether this machine reaches the internet."
        return Finding(source.name, "note", f"{text}, but it does not answer: {str(error) or 'no reply'}", advice)
    return Finding(source.name, "ok", f"{text}, and it answers (results: {len(result['documents'])})")


async def _check_servers(stores: list[Any]) -> list[Finding]:
    """Check whether Elasticsearch answers, if the pipeline searches it."""
    servers = [store for store in stores if is_elasticsearch_store(store)]
    if not servers:
        return []
    # Import the client of Elasticsearch only if the pipeline searches Elasticsearch, because the import is slow.
    from prefrag.components.document_stores.elasticsearch.consent import check_index

    try:
        await asyncio.to_thread(check_index, servers[0])
    except Exception as error:
        return [_explain("elasticsearch", "", error)]
    return [Finding("elasticsearch", "ok", "Elasticsearch answers")]


def _is_installed(module: str) -> bool:
    """Check whether a module can be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        # The package of the module is absent.
        return False


def _check_extras() -> Finding:
    """Say which extras of the package are installed. This is never a problem."""
    there = [extra for extra, modules in _EXTRAS.items() if all(map(_is_installed, modules))]
    absent = [extra for extra in _EXTRAS if extra not in there]
    advice = f'If you need one: pip install "prefrag[{absent[0]}]"' if absent else ""
    text = f"Installed: {', '.join(there) or 'none'}" + (f"; not installed: {', '.join(absent)}" if absent else "")
    return Finding("extras", "ok", text, advice)


def _check_keys(stores: Sequence[Any] = ()) -> Finding:
    """Say how many API keys there are, or what is wrong with them."""
    from prefrag.server.access.key_index import KEY_INDEX, KeysUnreadable, is_open_to_others
    from prefrag.server.access.keys import are_shared, keys_file, read_keys

    advice = "To serve other machines, or behind a proxy or tunnel, make one: prefrag keys add NAME"
    try:
        named, keys = len(settings.api_keys), read_keys()
    except (ValueError, KeysUnreadable) as error:
        return Finding("keys", "note", str(error), "Until you repair this, `serve` does not start or refuses the keys.")

    if are_shared():
        if is_open_to_others():
            text = f"Anyone who reaches Elasticsearch can read and change the hashes of the keys ({KEY_INDEX})"
            return Finding("keys", "note", text, "Protect it with a password or a key (PREFRAG_ELASTICSEARCH_API_KEY).")
        if keys_file().exists():
            text = f"The keys in {keys_file()} no longer work, but while it exists, `prefrag serve` requires a key"
            return Finding("keys", "note", text, "Make new keys with prefrag keys add, then delete that file.")

    expired = sum(key.has_expired for key in keys)
    if not named and not keys and settings.require_key:
        return Finding("keys", "note", "PREFRAG_REQUIRE_KEY is on, but there are no keys: prefrag keys add NAME")
    shares = not are_shared() and settings.keys_file is None and any(is_elasticsearch_store(store) for store in stores)
    if not named and not keys and shares:
        text = "There are no keys here, so serve requires none, even if another server on this Elasticsearch does"
        return Finding("keys", "note", text, "If there are several servers, set PREFRAG_STATE=elasticsearch on each.")
    if not named and not keys:
        return Finding("keys", "ok", "There are no keys, so serve answers only this machine", advice)
    text = f"{named} set in PREFRAG_API_KEYS, {len(keys)} made by prefrag keys"
    if expired:
        return Finding("keys", "note", f"{text}, of which {expired} have expired")
    return Finding("keys", "ok", text)


async def _check_serve(port: int) -> Finding:
    """Say whether `prefrag serve` is running on a port, and whether it is ready."""
    address = f"http://127.0.0.1:{port}"
    try:
        # Ignore the environment's proxy, which is not meant for requests to this machine.
        async with asyncio.timeout(_SERVE_SECONDS), httpx.AsyncClient(trust_env=False) as client:
            content = (await client.get(f"{address}/ready")).json()
    except (httpx.HTTPError, TimeoutError, ValueError):
        content = None
    status = content.get("status") if isinstance(content, Mapping) else None
    if status == "ready":
        return Finding("serve", "ok", f"prefrag serve is ready at {address}")
    if status == "not ready":
        return Finding("serve", "note", f"prefrag serve runs at {address} but is not ready", f"See {address}/ready.")
    return Finding("serve", "ok", f"prefrag serve is not running on port {port}", "Start it with: prefrag serve")
