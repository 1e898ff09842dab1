"""Read settings from ``.env``, and warn about variables that look like settings but are not."""

from pathlib import Path

from prefrag.cli.console import console


def load_env_file() -> None:
    """Read the settings in the nearest ``.env``. Variables that are already set keep their values."""
    from dotenv import find_dotenv, load_dotenv

    load_dotenv(find_dotenv(usecwd=True))


def find_unknown_settings(*files: Path) -> list[str]:
    """Describe each variable that looks like a setting but is read by neither prefrag nor the user's YAML."""
    from prefrag.settings import check_settings

    if not check_settings():
        return []
    from prefrag.pipelines.loading import own_variables

    return check_settings(own_variables(*files))


def report_unknown_settings(pipeline: str = "") -> None:
    """Warn about misspelt settings: if the variable that forbids web search is misspelt, web search stays allowed."""
    for sentence in find_unknown_settings(Path(pipeline)):
        console(stderr=True).print(sentence, markup=False, soft_wrap=True, style="yellow")
