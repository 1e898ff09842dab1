"""Keep the listings of the collections that were read last, so that a page of a list does not make it anew."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sized
from dataclasses import dataclass, field
from typing import Generic, TypeVar

# Half a million take some 450 MB: entries, documents, and what is known of each file.
MOST_ENTRIES = 500_000

Listing = TypeVar("Listing", bound=Sized)


@dataclass
class _Shelf(Generic[Listing]):
    """The place of one collection. Whoever has the lock makes the listing, and the others wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    state: Hashable = None
    listing: Listing | None = None


class Listings(Generic[Listing]):
    """Listings of one kind, one for each collection, each for the last state of its index.

    Many small collections stay, or a few large ones: what counts is the number of entries in all. The listing that was
    made last always stays.

    :param most: The largest number of entries in all.
    """

    def __init__(self, most: int = MOST_ENTRIES) -> None:
        self._most = most
        self._shelves: OrderedDict[Hashable, _Shelf[Listing]] = OrderedDict()
        self._guard = threading.Lock()

    def read(self, collection: Hashable, state: Hashable, make: Callable[[], Listing]) -> Listing:
        """Return the listing of a collection, made anew if the state of its index is another. Do not change it.

        :param collection: What tells the collection from others.
        :param state: Anything that differs when the listing does; read before the listing is made.
        :param make: Makes the listing. Two threads never make that of a collection at once, but those of two.
        :returns: The listing.
        """
        with self._guard:
            shelf = self._shelves.setdefault(collection, _Shelf())
            self._shelves.move_to_end(collection)
        with shelf.lock:
            listing = shelf.listing
            if listing is None or shelf.state != state:
                listing = make()
                shelf.state, shelf.listing = state, listing
                self._drop_oldest()
        return listing

    def _drop_oldest(self) -> None:
        with self._guard:
            sizes = {name: len(shelf.listing or ()) for name, shelf in self._shelves.items()}
            excess = sum(sizes.values()) - self._most
            for name, size in sizes.items():
                # A listing that is being made, such as the caller's, would be made again at once.
                if excess > 0 and not self._shelves[name].lock.locked():
                    excess -= size
                    del self._shelves[name]
