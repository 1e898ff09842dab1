"""Read settings from a ``.env`` file, and warn about variables that look like settings but are not."""

from pathlib import Path

from prefrag.cli.console import console


def load_env_file() -> None:
    """Read the settings in the nearest ``.env`` file, from the current folder upwards.

    Variables that are already set keep their values.
    """
    from dotenv import find_dotenv, load_dotenv

    load_dotenv(find_dotenv(usecwd=True))


def find_unknown_settings(*files: Path) -> list[str]:
    """Describe each variable that looks like a setting, but that neither prefrag nor the user's YAML reads.

    :param files: YAML files of pipelines, or names of pipelines. They may read variables of their own.
    :returns: A sentence for each such variable.
    """
    from prefrag.settings import check_settings

    if not check_settings():
        return []
    from prefrag.pipelines.loading import own_variables

    return check_settings(own_variables(*files))


def report_unknown_settings(pipeline: str = "") -> None:
    """Warn about misspelt settings on stderr.

    Without the warning, a user might not notice that a setting has no effect. For example, web search stays allowed if
    the variable that forbids it is misspelt.

    :param pipeline: The name of a pipeline, or the path of its YAML file.
    """
    for sentence in find_unknown_settings(Path(pipeline)):
        console(stderr=True).print(sentence, markup=False, soft_wrap=True, style="yellow")
