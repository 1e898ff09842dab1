"""Make the filter that restricts a search to documents from certain folders, of certain kinds or with certain dates."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import partial
from pathlib import PurePath
from typing import Any

from prefrag.components.document_stores.folder_names import name_folders
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import data_directory
from prefrag.components.text.unicode_form import normalize_unicode
from prefrag.errors import BadInput

_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?", re.ASCII)  # a year, a month or a day
_LISTED = 10  # the maximum number of names in a message
_Values = Callable[[str], set[str]]


def narrow_filters(stores: Sequence[Any], wanted: Mapping[str, Any], filters: Any = None) -> dict[str, Any]:
    """Make the filter for the folders, kinds and dates that a user wrote.

    ``wanted`` may have the keys `folders`, `kinds`, `since` and `until`. Documents must match ``filters`` too. Each
    condition of the new filter lists the values in the indexes that match what the user wrote. Tantivy and
    Elasticsearch can look up such values as exact terms. Raises :class:`BadInput` for an invalid date. It is also
    raised if no value matches what the user wrote, because a search would then find nothing.
    """
    conditions: list[dict[str, Any]] = []

    def values(name: str) -> set[str]:
        so_far = {"operator": "AND", "conditions": conditions} if conditions else None
        return {value for store in stores for value in _held_values(store, name, so_far)}

    since, until = (_check_date(name, wanted.get(name)) for name in ("since", "until"))
    own = {_fold(getattr(store, "_index", "") or store.locate().name) for store in stores}
    for option, narrow in (("folders", partial(_in_folders, own)), ("kinds", _of_kinds)):
        choice = wanted.get(option)
        if choice:
            conditions.append(narrow(values, choice))
    if since or until:
        dates = sorted(date for date in values("date") if _is_within(date, since, until))
        if not dates:
            span = " ".join(f"{word} {date}" for word, date in (("since", since), ("until", until)) if date)
            such = "such document" if conditions else "document"
            raise BadInput(f"No {such} is dated {span}. Only dates in a document's name or first lines count.")
        conditions.append(_one_of("date", dates))
    return {"operator": "AND", "conditions": conditions + ([filters] if filters else [])}


def _in_folders(own: set[str], values: _Values, wanted: Sequence[str]) -> dict[str, Any]:
    paths, all_uploads = values("folder"), data_directory() / "uploads"
    # Names are relative to the common folder, which contains all files, corpus files too, as in the document list.
    every = paths | {str(PurePath(path).parent) for path in values("corpus")}
    uploads = {path for path in every if path.startswith("upload:") or all_uploads in PurePath(path).parents}
    files = {str(PurePath(path, "file")): path for path in every - uploads}
    names = {files[file]: name for file, name in name_folders(files).items()} | dict.fromkeys(uploads, "")
    forms = {path: f"/{_fold(names[path])}/" for path in paths}
    folders: list[str] = []
    own_files: list[str] = []
    # These names do not contain the name of the common folder. If the user writes it, the whole collection is meant.
    tops = {PurePath(path).parts[: -len(PurePath(names[path]).parts) or None] for path in every - uploads}
    own |= {_fold(top[-1]) for top in tops if top and len(tops) == 1}
    for named, folder in zip(wanted, map(_fold, wanted), strict=True):
        # A path as `prefrag documents list` prints it: of a file, or of a folder above it.
        if PurePath(named).is_absolute():
            folders += [path for path in paths if PurePath(path).is_relative_to(named)]
            own_files += [named] if str(PurePath(named).parent) in paths else []
            if folders or own_files:
                continue
        # An empty name means the whole collection. So does a name in `own`, unless a folder inside has that name too.
        below = [path for path, form in forms.items() if not folder or form.startswith(f"/{folder}/")]
        inside = [path for path, form in forms.items() if f"/{folder}/" in form]
        folders += below or inside or (paths if folder in own else ())
    if not folders and not own_files:
        raise _no_match("lies in the folder", wanted, (names[path] for path in paths))
    chosen = [_one_of("folder", folders)] if folders else []
    if own_files:
        chosen.append(_one_of("file_path", own_files))
    return chosen[0] if len(chosen) == 1 else {"operator": "OR", "conditions": chosen}


def _fold(folder: str) -> str:
    """Normalise a folder name for comparison, as a path relative to the collection."""
    parts = normalize_unicode(folder).casefold().replace("\\", "/").split("/")
    return "/".join(part for part in parts if part.strip() not in ("", "."))


def _of_kinds(values: _Values, wanted: Sequence[str]) -> dict[str, Any]:
    all_kinds, folded = values("kind"), {word.strip(" .").casefold() for word in wanted} - {""}
    kinds = [kind for kind in all_kinds if kind.casefold() in folded]
    endings = tuple(f".{ending}" for ending in folded - {kind.casefold() for kind in kinds})
    files = [name for name in values("file_name") if name.casefold().endswith(endings)] if endings else []
    if not kinds and not files:
        raise _no_match("is of the kind", wanted, all_kinds)
    both = [_one_of(name, matches) for name, matches in (("kind", kinds), ("file_name", files)) if matches]
    return {"operator": "OR", "conditions": both}


def _check_date(name: str, text: str | None) -> str | None:
    with suppress(ValueError):
        if text is None or (_DATE.fullmatch(text) and date.fromisoformat(f"{text}-01-01"[:10])):
            return text
    raise BadInput(f"{name} is {text!r:.40}: give a year, a month or a day, such as 2024, 2024-06 or 2024-06-15.")


def _is_within(value: str, since: str | None, until: str | None) -> bool:
    """Check whether a date lies in a span. A year or a month lies in the span if at least one of its days does."""
    match = _DATE.match(value)
    date = match[0] if match else ""
    after, before = since or date, until or date
    return bool(date) and date[: len(after)] >= after[: len(date)] and date[: len(before)] <= before[: len(date)]


def _one_of(name: str, values: Sequence[str]) -> dict[str, Any]:
    return {"field": f"meta.{name}", "operator": "in", "value": list(values)}


def _no_match(where: str, wanted: Sequence[str], names: Iterable[str]) -> BadInput:
    asked = " or ".join(f"{name!r:.80}" for name in wanted[:_LISTED])
    there = sorted({*names} - {""})
    listed = ", ".join([*there[:_LISTED], *(["..."] if there[_LISTED:] else [])]) or "none"
    return BadInput(f"No document {where} {asked}. The choices are: {listed}")


def _held_values(store: Any, name: str, filters: dict[str, Any] | None) -> Iterable[str]:
    if isinstance(store, TantivyDocumentStore):
        counts = store.count_values(name, filters)
        if name in ("folder", "file_name") and sum(counts.values()) < sum(store.count_values("kind", filters).values()):
            # The counts leave out values over 200 characters, such as long paths. Then the documents are read instead.
            return {str(document.meta[name]) for document in store.iterate_documents(filters) if name in document.meta}
        return counts
    # Imported only here, because the Elasticsearch client takes long to import.
    from prefrag.components.document_stores.elasticsearch.fields import count_values

    return count_values(store, name, filters)
