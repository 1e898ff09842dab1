"""A listing is made once for each state of an index, by one thread, and large ones make room."""

import threading
from collections.abc import Callable

import pytest

from prefrag.collections import indexing
from prefrag.collections.collection import Collection
from prefrag.collections.indexing import index
from prefrag.collections.listings import Listings
from prefrag.collections.local_collection import LocalCollection
from prefrag.collections.stores import PassageStore
from tests.indexing.samples import Make


@pytest.fixture
def made() -> list[str]:
    """The names of the listings in the order in which they were made."""
    return []


def maker(made: list[str], name: str, size: int) -> Callable[[], list[str]]:
    def make() -> list[str]:
        made.append(name)
        return [name] * size

    return make


class TestListings:
    def test_one_is_made_once_for_each_state(self, made: list[str]):
        listings: Listings[list[str]] = Listings()

        for state in (1, 1, 2, 2, 1):
            listings.read("letters", state, maker(made, f"letters {state}", 3))

        assert made == ["letters 1", "letters 2", "letters 1"]

    def test_many_that_fit_stay_however_many_there_are(self, made: list[str]):
        listings: Listings[list[str]] = Listings(most=600)

        for _ in range(3):
            for number in range(60):
                listings.read(number, 1, maker(made, str(number), 10))

        assert len(made) == 60

    def test_those_not_read_for_longest_make_room(self, made: list[str]):
        listings: Listings[list[str]] = Listings(most=10)
        for name in ("letters", "maps", "letters", "invoices"):
            listings.read(name, 1, maker(made, name, 4))

        for name in ("invoices", "letters", "maps"):
            listings.read(name, 1, maker(made, name, 4))

        assert made == ["letters", "maps", "invoices", "maps"]

    def test_one_that_is_being_made_does_not_make_room(self, made: list[str]):
        listings: Listings[list[str]] = Listings(most=1)
        begun, may_end = threading.Event(), threading.Event()

        def make_slowly() -> list[str]:
            begun.set()
            may_end.wait(10)
            return maker(made, "letters", 3)()

        first = threading.Thread(target=listings.read, args=("letters", 1, make_slowly))
        first.start()
        begun.wait(10)
        listings.read("maps", 1, maker(made, "maps", 3))
        second = threading.Thread(target=listings.read, args=("letters", 1, maker(made, "letters", 3)))
        second.start()
        may_end.set()
        first.join(10)
        second.join(10)

        assert made == ["maps", "letters"]

    def test_one_above_the_limit_stays_alone(self, made: list[str]):
        listings: Listings[list[str]] = Listings(most=10)
        listings.read("maps", 1, maker(made, "maps", 4))

        for _ in range(2):
            listings.read("letters", 1, maker(made, "letters", 50))
        listings.read("maps", 1, maker(made, "maps", 4))

        assert made == ["maps", "letters", "maps"]

    def test_a_failure_leaves_nothing_behind(self, made: list[str]):
        listings: Listings[list[str]] = Listings()

        def fail() -> list[str]:
            raise OSError("The disk is gone.")

        with pytest.raises(OSError, match="gone"):
            listings.read("letters", 1, fail)

        assert listings.read("letters", 1, maker(made, "letters", 2)) == ["letters", "letters"]

    def test_threads_make_one_together_and_two_at_once(self, made: list[str]):
        listings: Listings[list[str]] = Listings()
        others_are_done = threading.Event()

        def make_slowly() -> list[str]:
            assert others_are_done.wait(timeout=30)
            return maker(made, "letters", 1)()

        threads = [threading.Thread(target=listings.read, args=("letters", 1, make_slowly)) for _ in range(4)]
        for thread in threads:
            thread.start()
        # While the threads wait for the first, another collection can be listed.
        listings.read("maps", 1, maker(made, "maps", 1))
        others_are_done.set()
        for thread in threads:
            thread.join(timeout=30)

        assert made == ["maps", "letters"]


class TestEveryCaller:
    def test_has_the_same_listing_and_reads_no_passage(self, make: Make, monkeypatch: pytest.MonkeyPatch):
        make("a.txt", "The crane was sold.")
        index([make("b.txt", "The crane was bought.").parent])
        collection = LocalCollection()
        monkeypatch.setattr(PassageStore, "all", lambda self: pytest.fail("all passages were read"))

        entries = collection.entries()

        assert [(entry.title, entry.passages) for entry in entries] == [("a.txt", 1), ("b.txt", 1)]
        assert indexing.list_documents(collection) == entries
        assert [document.entry for document in collection.documents()] == entries
        assert collection.count() == (2, 2)
        assert (collection.summary().files, collection.summary().passages) == (2, 2)

    def test_sees_a_change_at_once(self, make: Make):
        folder = make("a.txt").parent
        index([folder])
        assert len(LocalCollection().entries()) == 1

        make("b.txt")
        index([folder])

        assert [entry.title for entry in LocalCollection().entries()] == ["a.txt", "b.txt"]
        assert len(LocalCollection().documents()) == 2
        assert LocalCollection().summary().files == 2

    def test_may_change_the_list_that_it_gets(self, make: Make):
        index([make("a.txt")])

        for read in (LocalCollection().entries, LocalCollection().documents, LocalCollection().metadata):
            read().clear()
            assert len(read()) == 1

    def test_reads_what_another_has_made(self, make: Make, monkeypatch: pytest.MonkeyPatch):
        index([make("a.txt")])
        LocalCollection().documents()
        monkeypatch.setattr(Collection, "entries", lambda self: pytest.fail("the passages were counted again"))
        monkeypatch.setattr(Collection, "documents", lambda self: pytest.fail("the documents were listed again"))

        assert [entry.title for entry in LocalCollection().entries()] == ["a.txt"]
        assert [document.entry.title for document in LocalCollection().documents()] == ["a.txt"]
