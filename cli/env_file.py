"""What the commands do about settings: read the file ``.env``, and name what looks like a setting and is none."""

from __future__ import annotations

from pathlib import Path

from prefrag.cli.console import console


def load_env_file() -> None:
    """Read the settings of the nearest ``.env`` that the environment does not hold already."""
    from dotenv import find_dotenv, load_dotenv

    load_dotenv(find_dotenv(usecwd=True))


def find_unknown_settings(*files: Path) -> list[str]:
    """Find variables that look like settings, and that no pipeline of the user's own reads either."""
    from prefrag.components.settings import check_settings

    if not check_settings():
        return []
    from prefrag.pipelines.loading import own_variables

    return check_settings(own_variables(*files))


def report_unknown_settings(pipeline: str = "") -> None:
    """Print what is misspelt; a closed door may stand open by it."""
    for sentence in find_unknown_settings(Path(pipeline)):
        console(stderr=True).print(sentence, markup=False, soft_wrap=True, style="yellow")
