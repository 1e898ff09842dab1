"""A cache for the lists of documents of the collections that were read last.

Clients read a list page by page. Without the cache, the whole list would be made again for each page. A cached list is
used until the index of its collection changes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sized
from dataclasses import dataclass, field
from typing import Generic, TypeVar

# The maximum number of entries of all cached lists of one kind. Half a million entries of each of the three kinds take
# some 450 MB of memory together. The kinds are the entries, the documents and the metadata of files.
MOST_ENTRIES = 500_000

# The type of a list.
Listing = TypeVar("Listing", bound=Sized)


@dataclass
class _CachedListing(Generic[Listing]):
    """The cached list of one collection. The thread with the lock makes the list, and other threads wait for the list.

    :param lock: The lock.
    :param state: The state of the index for which the list was made.
    :param listing: The list. None until it is made.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    state: Hashable = None
    listing: Listing | None = None


class Listings(Generic[Listing]):
    """Caches the lists of one kind. There is one list for each collection, for the last state of its index.

    If all lists together have too many entries, the lists that were read longest ago are dropped. The list that was
    made last always stays.

    :param most: The maximum number of entries of all lists.
    """

    def __init__(self, most: int = MOST_ENTRIES) -> None:
        self._most = most
        self._cached: OrderedDict[Hashable, _CachedListing[Listing]] = OrderedDict()
        self._guard = threading.Lock()

    def read(self, collection: Hashable, state: Hashable, make: Callable[[], Listing]) -> Listing:
        """Return the list of a collection. It is made again if the state of the index has changed.

        :param collection: A key for the collection, such as the path of its index.
        :param state: A value that changes whenever the list changes. It must be read before the list is made.
        :param make: A function that makes the list. Two threads never call it at the same time for the same collection.
        :returns: The list. The caller must not change it.
        """
        with self._guard:
            cached = self._cached.setdefault(collection, _CachedListing())
            self._cached.move_to_end(collection)
        with cached.lock:
            listing = cached.listing
            if listing is None or cached.state != state:
                listing = make()
                cached.state = state
                cached.listing = listing
                self._drop_oldest()
        return listing

    def _drop_oldest(self) -> None:
        """Drop the lists that were read longest ago, until the total is small enough."""
        with self._guard:
            sizes = {name: len(cached.listing or ()) for name, cached in self._cached.items()}
            excess = sum(sizes.values()) - self._most
            for name, size in sizes.items():
                # A list whose lock is taken is in use, such as the list of the caller. It stays.
                if excess > 0 and not self._cached[name].lock.locked():
                    excess -= size
                    del self._cached[name]
