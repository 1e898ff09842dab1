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
from typing import TYPE_CHECKING, Any, Literal

import httpx
from dotenv import dotenv_values, find_dotenv
from haystack.core.pipeline.base import PipelineBase

from prefrag import pipelines
from prefrag.audit_log import AuditLogFailed, audit_log, check_audit_log
from prefrag.cli.env_file import find_unknown_settings
from prefrag.cli.errors import find_exit_code
from prefrag.cli.kept_model import Choice, read_choice
from prefrag.cli.local_servers import find_local_servers, list_models
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.index_name import name_index
from prefrag.components.document_stores.store_kinds import Store, find_stores, is_elasticsearch_store, is_tantivy_store
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
from prefrag.components.parts import walk_parts
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.web_switch import web_setting
from prefrag.components.text.counted import counted
from prefrag.errors import Missing
from prefrag.evaluation.prove.proof import say_kept
from prefrag.pipelines.wiring import find_empty_stores
from prefrag.settings import models, settings
from prefrag.tracing import sent_to_tracing
from prefrag.version import find_version

if TYPE_CHECKING:
    from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore

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
_MAX_SHOWN = 5
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
    stores: list[Store] = []
    try:
        pipeline = pipelines.load(name)
        # List the stores before the pipeline is opened. An open web retriever may contain a further store, which is
        # searched in place of the web.
        stores = find_stores(pipeline)
        # Several parts of the pipeline may search the same index on this machine. Check it once.
        stores_by_index = {(store.path, store.index): store for store in stores if is_tantivy_store(store)}
        local_stores = list(stores_by_index.values())
        index_checks = [asyncio.to_thread(_check_index, store) for store in local_stores]
        findings += await asyncio.gather(*index_checks)
        findings += await asyncio.to_thread(_check_proofs, local_stores)

        findings.append(await asyncio.to_thread(_warm_up, name, pipeline))
        empty_stores = await asyncio.to_thread(find_empty_stores, pipeline)
        findings += [Finding("pipeline", "problem", text, exit_code=Missing.exit_code) for text in empty_stores]
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
    for path in (folder, folder / "indexes"):
        if os.path.exists(path) and not os.access(path, os.R_OK | os.X_OK):
            return _explain("data", "", PermissionError(errno.EACCES, "", str(path)))

    open_entries = find_open_entries()
    if open_entries:
        names = ", ".join(path.name for path in open_entries[:_MAX_SHOWN])
        text = f"Other users of this machine can read the data folder {folder}: {names}"
        quoted_folder = shlex.quote(str(folder))
        return Finding("data", "note", text, advice=f"To keep it private: chmod -R go= {quoted_folder}")

    # The data folder or, if it does not exist yet, the innermost existing folder above it.
    existing_folder, *_ = [path for path in (folder, *folder.parents) if os.path.exists(path)]
    if os.access(existing_folder, os.W_OK):
        return Finding("data", "ok", f"The data folder is {folder}")
    advice = "To index documents or use the demo, set PREFRAG_DATA_DIR to a folder that you can write to."
    return Finding("data", "note", f"{folder} cannot be written to", advice=advice)


def _check_settings(name: str) -> Iterator[Finding]:
    """Check for misspelt settings and an ignored ``.env`` file. Say where traces and the audit log go."""
    try:
        yield from (Finding("settings", "note", unknown) for unknown in find_unknown_settings(Path(name)))
    except ValueError as error:
        yield _explain("settings", "", error)

    file = find_dotenv(usecwd=True)
    if file:
        unread = []
        for variable in dotenv_values(file):
            if variable.startswith("PREFRAG_") and variable not in os.environ:
                unread.append(variable)
        if unread:
            text = f"{file} sets {', '.join(unread)}, but `prefrag ask`, `chat` and `index` do not read that file"
            yield Finding("settings", "note", text, advice="Export them as environment variables for these commands.")

    if settings.auto_trace or sent_to_tracing():
        content = "with questions and answers" if settings.trace_content else "without questions, passages or answers"
        yield Finding("tracing", "note", f"Spans go to every OpenTelemetry tracer that is set up, {content}")

    log = audit_log()
    if log:
        yield _check_audit_log(log)


def _check_audit_log(log: Path) -> Finding:
    """Check whether the audit log can be written to, and whether other users can read it."""
    try:
        warning = check_audit_log()
    except AuditLogFailed as error:
        return Finding("audit log", "note", str(error))
    if warning:
        return Finding("audit log", "note", warning)
    return Finding("audit log", "ok", f"What leaves this machine is written to {log}")


def _check_index(store: TantivyDocumentStore) -> Finding:
    """Check whether an index on this machine can be searched, and say what it contains."""
    name = name_index(store)
    command = "prefrag index YOUR_FILES"
    if name not in (DEFAULT_INDEX, DEMO_INDEX):
        command += f" --collection {name}"
    try:
        store.check()
        count = store.count_documents()
        has_vectors = (store.locate() / "vectors").is_dir()
    except FileNotFoundError as error:
        advice = suggest_indexes(name).strip()
        return Finding("index", "problem", str(error), advice=advice, exit_code=Missing.exit_code)
    except Exception as error:
        return _explain("index", f"{name} cannot be searched: ", error)

    text = f"{name} contains {counted(count, 'passage')}"
    if has_vectors:
        text += " and vectors for dense retrieval"
    if name == DEMO_INDEX:
        text += ", the demo's invented documents"
        return Finding("index", "note", text, advice=f"To index your own: {command}")
    if not count:
        return Finding("index", "note", text, advice=f"Fill it with: {command}")
    return Finding("index", "ok", text)


def _check_proofs(stores: Sequence[TantivyDocumentStore]) -> list[Finding]:
    """Say, for each collection, how often answers given as "Stated" were wrong when `prefrag prove` measured this."""
    findings = []
    for store in stores:
        # A store with a path is no collection in the data folder.
        if store.path is None:
            text = say_kept(LocalCollection(name_index(store)))
            if text:
                # An outdated measurement comes with the command to measure again.
                is_outdated = "; again: " in text
                findings.append(Finding("proof", "note" if is_outdated else "ok", text))
    return findings


def _warm_up(name: str, pipeline: PipelineBase) -> Finding:
    """Check whether a loaded pipeline starts."""
    try:
        pipeline.warm_up()
    except Exception as error:
        return _explain("pipeline", f"{name} does not start: ", error)
    return Finding("pipeline", "ok", f"{name} is loaded")


async def _check_models(pipeline: PipelineBase) -> list[Finding]:
    """Check the model that answers. A model that only judges is checked elsewhere."""
    answering = [model for model in _find_models(pipeline) if not model.is_named_for_judging]
    if not answering:
        return []
    model = answering[0]
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


def _find_models(pipeline: PipelineBase) -> list[ChatModel]:
    return [part for _, part in walk_parts(pipeline) if isinstance(part, ChatModel)]


def _report_absence(pipeline: PipelineBase) -> Finding:
    """Say that no language model is set, and name model servers on this machine. This is a problem only if needed."""
    programs = []
    for server in find_local_servers():
        names = ", ".join(server.models[:_MAX_SHOWN])
        programs.append(f"{server.program} at {server.base_url} ({names})")

    advice = "Set PREFRAG_LLM_BASE_URL and PREFRAG_LLM_MODEL to a model server"
    if programs:
        advice += f". On this machine: {'; '.join(programs)}."
    else:
        advice += "; none was found at the usual ports of this machine."
    advice += " Or fetch a model: prefrag model get"

    has_reader = any(getattr(part, "is_extractive", False) for _, part in pipeline.walk())
    if has_reader:
        return Finding("model", "note", "No language model is set: an extractive reader answers instead", advice=advice)
    text = "No language model is set, and this pipeline needs one"
    return Finding("model", "problem", text, advice=advice, exit_code=Missing.exit_code)


async def _check_model(part: str, model: ChatModel) -> list[Finding]:
    """Check whether a model server answers, whether it knows the model, and how the model replies."""
    try:
        server = model.server
        assert server is not None
        probe = AbilityProbe(model, _CALL_SECONDS)
        listed_models = await _list_models(server)
        began = time.monotonic()
        await probe.ask_async("Reply with OK.", max_tokens=1)
        seconds = time.monotonic() - began

        # Ollama tells its context window only now, when the model is loaded. So ask again.
        server.record.silent_until = 0.0
        await asyncio.to_thread(read_facts, server)
        shown_model = f"{server.model} at {server.address}"
        if read_choice() == Choice(server.base_url, server.model):
            shown_model += ", as you chose (change it with `prefrag model use`),"
        window = _explain_window(model, server)
        findings = [Finding(part, "ok", f"{shown_model} replies in {seconds:.1f} s; {window}")]

        if not is_local(model.model_host):
            advice = "Add your own hosts to PREFRAG_LOCAL_HOSTS, or forbid remote models with PREFRAG_REMOTE_MODEL=off."
            findings.append(Finding(part, "note", f"Every passage goes to {model.model_host}", advice=advice))
        if listed_models and server.model not in listed_models:
            names = ", ".join(listed_models[:_MAX_SHOWN])
            findings.append(Finding(part, "note", f"The server lists {names}, but not {server.model}"))
        return findings + await _check_replies(part, model, probe)
    except Exception as error:
        # A timeout has no message.
        lead = "" if str(error) else f"No reply within {_CALL_SECONDS:g} s"
        return [_explain(part, lead, error)]


async def _check_replies(part: str, model: ChatModel, probe: AbilityProbe) -> list[Finding]:
    """Ask a short question, and say if the reply shows a problem: no text, too few tokens, or the wrong form."""
    reply = await probe.ask_async(
        "Is water wet? Answer in one short English sentence.",
        max_tokens=64,
        response_format={"type": "json_schema", "json_schema": {"name": "wet", "schema": _SCHEMA, "strict": True}},
    )
    if reply.meta.get("filed_as_reasoning"):
        return [Finding(part, "problem", FILED_AS_REASONING, exit_code=1)]

    reply_text = strip_reasoning(reply.text or "")
    # What the names of the settings of this model begin with.
    prefix = model.limit_setting.removesuffix("MAX_TOKENS")
    if not reply_text and reply.meta.get("finish_reason") == "length":
        limit = model.reply_limit or _YAML_REPLY_TOKENS
        if limit >= _TOKENS_TO_THINK:
            return [Finding(part, "ok", f"It thinks before it replies; {limit:,} tokens leave room for that")]
        advice = f"Set {model.limit_setting} to {_TOKENS_TO_THINK} or more, or {prefix}THINKING=off."
        text = f"It thinks before it replies, and {limit:,} tokens may be too few for that"
        return [Finding(part, "note", text, advice=advice)]

    asked_for_schema = model.structured_output == "json_schema"
    if asked_for_schema and not isinstance(read_object(reply_text), dict):
        advice = f"Set {prefix}STRUCTURED to json_object or off."
        return [Finding(part, "note", "The server does not make replies follow a JSON schema", advice=advice)]
    return []


def _explain_window(model: ChatModel, server: ModelServer) -> str:
    """Say how many tokens of context the model may use, and how that is known."""
    stated = server.record.window
    used = model.context_window
    prefix = model.limit_setting.removesuffix("MAX_TOKENS")
    setting = f"{prefix}CONTEXT"
    if stated is not None:
        why = f", as {setting} says" if used < stated else ""
        return f"it may use {used:,} of the {stated:,} tokens of context that its server states{why}"

    lead = f"its server states no context window, so {used:,} tokens are"
    if model.has_context_setting:
        return f"{lead} used, as {setting} says"
    usual = ", Ollama's usual number" if server.record.is_ollama else ""
    return f"{lead} assumed{usual} (if this is wrong, set {setting})"


async def _list_models(server: ModelServer) -> list[str]:
    """Return the names of the models that a server lists. Empty if it lists none."""
    # Ignore errors. Not every server lists its models, and the next check shows whether the server replies.
    with suppress(httpx.HTTPError, TimeoutError, ValueError, RecursionError):
        url = f"{server.base_url.rstrip('/')}/models"
        content = await asyncio.to_thread(get_json, url, server.api_key, _LIST_SECONDS)
        return [model["id"] for model in list_models(content)]
    return []


async def _check_judge(pipeline: PipelineBase) -> list[Finding]:
    """Say what judges whether documents suffice. If a separate model is set for judging, check its server."""
    models_for_judging = [model for model in _find_models(pipeline) if model.is_named_for_judging]
    if models_for_judging:
        model = models_for_judging[0]
        if not model.is_embedded:
            return await _check_model("judge", model)
        return [Finding("judge", "ok", f"{models['judge'].gguf} judges in this process")]

    judges = [part for _, part in walk_parts(pipeline) if isinstance(part, SourceSwitchJudge)]
    if not judges:
        return []
    parts = [part for _, part in walk_parts(judges[0])]
    return [Finding("judge", "ok", _say_who_judges(parts))]


def _say_who_judges(parts: Sequence[Any]) -> str:
    """Say whether the model, decision trees or both judge, from the parts of a judge."""
    # Parts in which trees judge first. They ask the model only if it has passed a trial.
    trees_first = [part for part in parts if hasattr(part, "has_passed")]
    if any(part.has_passed for part in trees_first):
        return "Decision trees judge, and the model where they are unsure"
    if any(not part.model_judge.call.is_absent for part in trees_first):
        return "Decision trees judge, and no model, as none has passed its trial"
    if not trees_first and any(getattr(part, "can_judge", False) for part in parts):
        return "The model judges"
    return "Decision trees judge, without a model"


async def _check_web(pipeline: PipelineBase, online: bool) -> list[Finding]:
    """Check each external source, such as the web."""
    sources: dict[str, RetrievalSource] = {}
    for _, part in walk_parts(pipeline):
        if isinstance(part, RetrievalSource) and part.external:
            sources[part.name] = part

    # The sources that no query may be sent to, and why. A component of the user's own may not tell them.
    closed: Sequence[str] = ()
    reason = ""
    find_closed = getattr(pipeline.get_component("start"), "closed_sources", None)
    if sources and find_closed is not None:
        closed, reason = await asyncio.to_thread(find_closed)

    findings = []
    for name, source in sources.items():
        why_closed = reason if name in closed else ""
        findings.append(await _check_source(source, online, why_closed))
    return findings


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
        advice = "" if online else "To check whether the web answers, use --online."
        return Finding(source.name, "ok", text, advice=advice)
    try:
        async with asyncio.timeout(_WEB_SECONDS):
            result = await asyncio.to_thread(source.retriever.run, query="weather")
    except Exception as error:
        advice = "Runs go on without the web. Check whether this machine reaches the internet."
        reason = str(error) or "no reply"
        return Finding(source.name, "note", f"{text}, but it does not answer: {reason}", advice=advice)
    return Finding(source.name, "ok", f"{text}, and it answers (results: {len(result['documents'])})")


async def _check_servers(stores: list[Store]) -> list[Finding]:
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
    installed = []
    absent = []
    for extra, modules in _EXTRAS.items():
        if all(_is_installed(module) for module in modules):
            installed.append(extra)
        else:
            absent.append(extra)
    text = f"Installed: {', '.join(installed) or 'none'}"
    if not absent:
        return Finding("extras", "ok", text)
    text += f"; not installed: {', '.join(absent)}"
    return Finding("extras", "ok", text, advice=f'If you need one: pip install "prefrag[{absent[0]}]"')


def _check_keys(stores: Sequence[object] = ()) -> Finding:
    """Say how many API keys there are, or what is wrong with them."""
    from prefrag.server.access.key_index import KeysUnreadable
    from prefrag.server.access.keys import are_shared, read_keys

    try:
        number_set = len(settings.api_keys)
        keys = read_keys()
    except (ValueError, KeysUnreadable) as error:
        advice = "Until you repair this, `serve` does not start or refuses the keys."
        return Finding("keys", "note", str(error), advice=advice)

    problem = _find_problem_of_shared_keys() if are_shared() else None
    if problem is not None:
        return problem
    if number_set or keys:
        text = f"{number_set} set in PREFRAG_API_KEYS, {len(keys)} made by prefrag keys"
        number_expired = sum(key.has_expired for key in keys)
        if number_expired:
            return Finding("keys", "note", f"{text}, of which {number_expired} have expired")
        return Finding("keys", "ok", text)
    return _report_no_keys(stores)


def _find_problem_of_shared_keys() -> Finding | None:
    """Say what is wrong with the keys in Elasticsearch, which can be read. None if nothing is wrong."""
    from prefrag.server.access.key_index import KEY_INDEX, is_open_to_others
    from prefrag.server.access.keys import keys_file

    if is_open_to_others():
        text = f"Anyone who reaches Elasticsearch can read and change the hashes of the keys ({KEY_INDEX})"
        advice = "Protect it with a password or a key (PREFRAG_ELASTICSEARCH_API_KEY)."
        return Finding("keys", "note", text, advice=advice)
    if keys_file().exists():
        text = f"The keys in {keys_file()} no longer work, but while it exists, `prefrag serve` requires a key"
        return Finding("keys", "note", text, advice="Make new keys with prefrag keys add, then delete that file.")
    return None


def _report_no_keys(stores: Sequence[object]) -> Finding:
    """Say what it means that there are no API keys."""
    from prefrag.server.access.keys import are_shared

    if settings.require_key:
        return Finding("keys", "note", "PREFRAG_REQUIRE_KEY is on, but there are no keys: prefrag keys add NAME")
    # Several servers may share the documents in Elasticsearch, while each has its own keys.
    shares_documents = any(is_elasticsearch_store(store) for store in stores)
    if shares_documents and settings.keys_file is None and not are_shared():
        text = "There are no keys here, so serve requires none, even if another server on this Elasticsearch does"
        advice = "If there are several servers, set PREFRAG_STATE=elasticsearch on each."
        return Finding("keys", "note", text, advice=advice)
    advice = "To serve other machines, or behind a proxy or tunnel, make one: prefrag keys add NAME"
    return Finding("keys", "ok", "There are no keys, so serve answers only this machine", advice=advice)


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
        text = f"prefrag serve runs at {address} but is not ready"
        return Finding("serve", "note", text, advice=f"See {address}/ready.")
    return Finding("serve", "ok", f"prefrag serve is not running on port {port}", advice="Start it with: prefrag serve")
