"""What the site adds to MkDocs: documents from all over the checkout, pictures of pipelines, and no other host."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import mermaidx
import typer.cli
import typer.main
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from prefrag.cli.main import app

CHECKOUT = Path(__file__).resolve().parents[2]
_COMMANDS = "commands.md"
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")
_MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ROLE = re.compile(r":(?:class|meth|func|attr|mod|data|exc):<code>(?:~[\w.]*\.)?([\w.]+)</code>")
# What a browser fetches by itself, unlike a link, which somebody has to click.
_FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc(?:set)?=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|<link\b(?![^>]*\brel=[\"']?canonical)[^>]*?\bhref=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|(?:url\(|@import\s)[\"']?((?:https?:)?//[^\"')\s]+)"
)


def on_files(files: Files, config: Any) -> Files:
    """Add each document that ``nav`` names, from wherever it is, with the files that it shows or links to."""
    files.append(File.generated(config, config.theme["logo"], abs_src_path=str(CHECKOUT / config.theme["logo"])))
    for name in _pages(config.nav):
        if name == _COMMANDS:
            files.append(File.generated(config, name, content=_commands()))
            continue
        document = CHECKOUT / name
        files.append(File.generated(config, name, abs_src_path=str(document)))
        for link in _LINK.findall(_FENCE.sub("", document.read_text(encoding="utf-8"))):
            linked = (document.parent / link).resolve()
            there = linked.relative_to(CHECKOUT).as_posix()
            if linked.is_file() and linked.suffix != ".md" and there not in files.src_uris:
                files.append(File.generated(config, there, abs_src_path=str(linked)))
    return files


def _pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for inner in nav.values() if isinstance(nav, dict) else nav:
            yield from _pages(inner)


def _commands() -> str:
    """Write the page of the commands from their ``--help``."""
    command = typer.main.get_command(app)
    text = typer.cli.get_docs_for_click(obj=command, ctx=click.Context(command, info_name="prefrag"), name="prefrag")
    # Leave out the lists of subcommands: they cut sentences off, and the headings name all commands.
    return re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", text.replace("# `prefrag`", "# Commands", 1))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Draw the pictures of pipelines here; on GitHub the browser draws them."""
    return _MERMAID.sub(lambda fence: _draw(fence[1]), markdown)


def _draw(flowchart: str) -> str:
    # The pictures of a page must not share ids, and an empty line would end the block of HTML.
    name = f"pipeline-{zlib.crc32(flowchart.encode())}"
    picture = mermaidx.render(flowchart).svg().replace("my-svg", name).replace("\n", "")
    return f'<figure class="pipeline" role="img" aria-label="The components and their connections">{picture}</figure>'


def on_page_content(html: str, **_: Any) -> str:
    """Show the roles in docstrings as plain names, as Sphinx would."""
    return _ROLE.sub(lambda role: f"<code>{role[1]}</code>", html)


def on_post_build(config: Any) -> None:
    """Refuse a site for which a browser would fetch anything from another host."""
    faults = [
        f"{file.relative_to(config.site_dir)}: {next(filter(None, match.groups()))}"
        for file in sorted(Path(config.site_dir).rglob("*"))
        if file.suffix in (".html", ".css", ".svg")
        for match in _FETCHED.finditer(file.read_text(encoding="utf-8"))
    ]
    if faults:
        raise PluginError("The site would fetch from other hosts:\n" + "\n".join(faults))
