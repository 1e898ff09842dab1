"""Which folders go into the package `prefrag`; all other settings are in pyproject.toml."""

from pathlib import Path

from setuptools import find_namespace_packages, setup

CHECKOUT = Path(__file__).resolve().parent
CODE = ("cli", "components", "evaluation", "indexing", "pipelines", "server", "training")
DATA = ("demo", "yaml_pipelines")

missing = [name for name in ("prefrag", *CODE) if not (CHECKOUT / name / "__init__.py").is_file()]
missing += [name for name in DATA if not any(CHECKOUT.joinpath(name).glob("*.*"))]
if missing:
    raise SystemExit(f"Nothing is built, because {', '.join(missing)} would be missing: build in a whole checkout.")

folders = {"prefrag": "prefrag", **{f"prefrag.{name}": name for name in (*CODE, *DATA)}}
# These include folders without Python code, such as `server/page`.
inner = [
    f"{package}.{part}"
    for package, folder in folders.items()
    if folder not in DATA
    for part in find_namespace_packages(str(CHECKOUT / folder), exclude=["*__pycache__*"])
]
setup(package_dir=folders, packages=[*folders, *inner])
