"""What the lock files hold, and what SECURITY.md says of it."""

from tests.docs.markdown import CHECKOUT
from tests.for_each import for_each

LEFT_OUT = {"fastapi-cli", "fastapi-cloud-cli", "fastar", "rignore", "sentry-sdk"}


def locked(name: str) -> set[str]:
    """The names of the packages in a lock file."""
    return {line.partition("==")[0] for line in (CHECKOUT / name).read_text(encoding="utf-8").splitlines()}


@for_each("name", "requirements.lock", "requirements-dev.lock", "requirements-docs.lock")
def test_no_lock_file_brings_the_command_of_fastapi(name: str):
    assert not LEFT_OUT & locked(name)


def test_unused_package_that_stays_is_in_the_lock_file():
    text = (CHECKOUT / "SECURITY.md").read_text(encoding="utf-8")
    table = text.partition("| Package | Brought by |")[2].partition("\n\n")[0]
    named = {name.strip() for row in table.splitlines()[2:] for name in row.split("|")[1].split(",")}

    assert named
    assert named <= locked("requirements.lock")
