"""Make the filter that restricts a search to documents from certain folders, of certain kinds or with certain dates.

A user writes folders, kinds and dates freely, for example "papers", "pdf" and "2024". An index can look up only exact
values. So this module reads the values of the documents' metadata from the index, and chooses the values that match
what the user wrote. The filter then lists these values.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import PurePath
from typing import Any

from prefrag.components.document_stores.folder_names import name_folders
from prefrag.components.document_stores.store_kinds import Store, is_tantivy_store
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import data_directory
from prefrag.components.state.filters import Filters
from prefrag.components.text.unicode_form import normalize_unicode
from prefrag.errors import BadInput

# A year, a month or a day: "2024", "2024-06" or "2024-06-15".
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?", re.ASCII)
# The maximum number of names in a message.
_LISTED = 10
# A function that returns all values of a metadata field.
_Values = Callable[[str], set[str]]


def narrow_filters(
    stores: Sequence[Store], wanted: Mapping[str, Any], filters: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Make the filter for the folders, kinds and dates that a user wrote.

    Each condition of the filter lists the values in the indexes that match what the user wrote. Tantivy and
    Elasticsearch can look up such values as exact terms.

    :param stores: The document stores that are searched.
    :param wanted: What the user wrote, under the keys `folders` and `kinds` (lists) and `since` and `until` (dates).
        Every key may be missing.
    :param filters: Haystack's filters that documents must match, too. None for none.
    :returns: The filter. A document must match all of its conditions.
    :raises BadInput: When a date is not valid. Also when no value matches what the user wrote, because a search would
        then find nothing.
    """
    conditions: list[Mapping[str, object]] = []

    def values(name: str) -> set[str]:
        """Return the values of a metadata field in the documents that match the conditions so far."""
        so_far = {"operator": "AND", "conditions": conditions} if conditions else None
        stored: set[str] = set()
        for store in stores:
            stored.update(_stored_values(store, name, so_far))
        return stored

    since = _check_date("since", wanted.get("since"))
    until = _check_date("until", wanted.get("until"))
    if wanted.get("folders"):
        collections = set()
        for store in stores:
            # An Elasticsearch store has the name of an index, a Tantivy store has a folder.
            collection = store.locate().name if is_tantivy_store(store) else store._index
            collections.add(_fold(collection))
        conditions.append(_in_folders(collections, values, wanted["folders"]))
    if wanted.get("kinds"):
        conditions.append(_of_kinds(values, wanted["kinds"]))
    if since or until:
        dates = sorted(date for date in values("date") if _is_within(date, since, until))
        if not dates:
            bounds = []
            if since:
                bounds.append(f"since {since}")
            if until:
                bounds.append(f"until {until}")
            span = " ".join(bounds)
            such = "such document" if conditions else "document"
            raise BadInput(f"No {such} is dated {span}. Only dates in a document's name or first lines count.")
        conditions.append(_one_of("date", dates))
    if filters:
        conditions.append(filters)
    return {"operator": "AND", "conditions": conditions}


def _in_folders(collections: set[str], values: _Values, wanted: Sequence[str]) -> dict[str, object]:
    """Make the condition for the folders that a user wrote.

    :param collections: The names of the collections, each as :func:`_fold` writes it.
    :param values: Returns all values of a metadata field.
    :param wanted: The folders that the user wrote.
    """
    paths = values("folder")
    # Names are relative to the common folder, which contains all files. Corpus files count, too, so that the names are
    # those of the document list.
    all_paths = paths | {str(PurePath(path).parent) for path in values("corpus")}
    all_uploads = data_directory() / "uploads"
    uploads = {path for path in all_paths if path.startswith("upload:") or all_uploads in PurePath(path).parents}

    # `name_folders` takes the paths of files, so each folder gets a file.
    files = {str(PurePath(path, "file")): path for path in all_paths - uploads}
    names = dict.fromkeys(uploads, "")
    for file, name in name_folders(files).items():
        names[files[file]] = name
    # The names with slashes around them, so that only whole parts of a name are compared.
    forms = {path: f"/{_fold(names[path])}/" for path in paths}

    # If the user writes the name of a collection, or of the common folder, the whole collection is meant.
    names_of_whole = set(collections)
    common_folders = {_without_end(path, names[path]) for path in all_paths - uploads}
    if len(common_folders) == 1:
        (common_parts,) = common_folders
        if common_parts:
            names_of_whole.add(_fold(common_parts[-1]))

    folders: list[str] = []
    own_files: list[str] = []
    for written in wanted:
        # The user may write a path as `prefrag documents list` prints it, of a file or of a folder.
        is_path = PurePath(written).is_absolute()
        is_file = is_path and str(PurePath(written).parent) in paths
        inside_path = []
        if is_path:
            inside_path = [path for path in paths if PurePath(path).is_relative_to(written)]

        if is_file:
            own_files.append(written)
        if is_file or inside_path:
            folders += inside_path
        else:
            folders += _named_folders(_fold(written), forms, names_of_whole)
    if not folders and not own_files:
        raise _no_match("lies in the folder", wanted, (names[path] for path in paths))

    conditions = [_one_of("folder", folders)] if folders else []
    if own_files:
        conditions.append(_one_of("file_path", own_files))
    if len(conditions) == 1:
        return conditions[0]
    return {"operator": "OR", "conditions": conditions}


def _named_folders(name: str, forms: Mapping[str, str], names_of_whole: set[str]) -> list[str]:
    """List the paths of the folders that a normalised name means.

    The folders that begin with the name come first, then those that have the name inside, then the whole collection. An
    empty name means the whole collection. ``forms`` has the name of each path, with slashes around it.
    """
    below = [path for path, form in forms.items() if not name or form.startswith(f"/{name}/")]
    if below:
        return below
    inside = [path for path, form in forms.items() if f"/{name}/" in form]
    if inside:
        return inside
    return list(forms) if name in names_of_whole else []


def _without_end(path: str, end: str) -> tuple[str, ...]:
    """Return the parts of a path without the relative path with which it ends.

    For example, ``_without_end("/a/b/c", "b/c")`` returns ``("/", "a")``.
    """
    parts = PurePath(path).parts
    return parts[: max(0, len(parts) - len(PurePath(end).parts))]


def _fold(folder: str) -> str:
    r"""Normalise a folder name for comparison. For example, "./Papers\2024/" becomes "papers/2024"."""
    parts = normalize_unicode(folder).casefold().replace("\\", "/").split("/")
    return "/".join(part for part in parts if part.strip() not in ("", "."))


def _of_kinds(values: _Values, wanted: Sequence[str]) -> dict[str, object]:
    """Make the condition for the kinds that a user wrote.

    A word that is the name of a kind of file, such as "PDF", stands for this kind. Any other word stands for the ending
    of a file name.
    """
    all_kinds = values("kind")
    folded = {word.strip(" .").casefold() for word in wanted} - {""}
    kinds = [kind for kind in all_kinds if kind.casefold() in folded]

    # What names no kind is taken for the ending of a file name.
    others = folded - {kind.casefold() for kind in kinds}
    endings = tuple(f".{ending}" for ending in others)
    files = []
    if endings:
        files = [name for name in values("file_name") if name.casefold().endswith(endings)]
    if not kinds and not files:
        raise _no_match("is of the kind", wanted, all_kinds)

    conditions = [_one_of("kind", kinds)] if kinds else []
    if files:
        conditions.append(_one_of("file_name", files))
    return {"operator": "OR", "conditions": conditions}


def _check_date(name: str, text: str | None) -> str | None:
    """Return a date as it is. Raise BadInput if the text is not a year, month or day of the calendar."""
    if text is None:
        return None
    if _DATE.fullmatch(text):
        # Of a year or a month, the first day is checked. Its date has ten characters.
        first_day = f"{text}-01-01"[:10]
        with suppress(ValueError):
            date.fromisoformat(first_day)
            return text
    raise BadInput(f"{name} is {text!r:.40}: give a year, a month or a day, such as 2024, 2024-06 or 2024-06-15.")


def _is_within(value: str, since: str | None, until: str | None) -> bool:
    """Check whether a date lies between two others. Each of the three may be a year, a month or a day.

    A year or a month lies between them if at least one of its days does. For example, "2024" is not before
    "2024-06-15", but "2024-05" is.
    """
    match = _DATE.match(value)
    if match is None:
        return False

    # Two dates are compared by the part that both have. For example, 2024 and 2024-06-15 are compared by the year.
    written = match[0]
    if since and written[: len(since)] < since[: len(written)]:
        return False
    return not until or written[: len(until)] <= until[: len(written)]


def _one_of(name: str, values: Sequence[str]) -> dict[str, object]:
    """Make the condition that a metadata field has one of these values."""
    return {"field": f"meta.{name}", "operator": "in", "value": list(values)}


def _no_match(where: str, wanted: Sequence[str], names: Iterable[str]) -> BadInput:
    """Make the error if no document matches. Its message lists the names that would match.

    :param where: The verb of the message, such as "lies in the folder".
    :param wanted: What the user wrote.
    :param names: The names that the user can choose from.
    """
    written = " or ".join(f"{name!r:.80}" for name in wanted[:_LISTED])
    choices = sorted(set(names) - {""})
    shown = choices[:_LISTED]
    if len(choices) > _LISTED:
        shown.append("...")
    listed = ", ".join(shown) or "none"
    return BadInput(f"No document {where} {written}. The choices are: {listed}")


def _stored_values(store: Store, name: str, filters: Filters | None) -> Iterable[str]:
    """Return the values of a metadata field in the documents of a store that match filters."""
    if isinstance(store, TantivyDocumentStore):
        counts = store.count_values(name, filters)
        if name in ("folder", "file_name"):
            documents_with_kind = sum(store.count_values("kind", filters).values())
            # The counts leave out values over 200 characters, such as long paths. If fewer values are counted than
            # documents have a kind, the documents are read instead.
            if sum(counts.values()) < documents_with_kind:
                documents = store.iterate_documents(filters)
                return {str(document.meta[name]) for document in documents if name in document.meta}
        return counts
    # Imported only here, because the Elasticsearch client takes long to import.
    from prefrag.components.document_stores.elasticsearch.fields import count_values

    return count_values(store, name, filters)
