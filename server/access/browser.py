"""Open the web page in this machine's browser as soon as the server answers."""

import os
import socket
import sys
import threading
import time
import webbrowser
from urllib.parse import urlsplit

_SECONDS = 60.0  # to wait for the server


def open_page(address: str, fragment: str) -> None:
    """Open a page once its server answers. If no browser opens, print the address, unless stdout is a terminal."""
    threading.Thread(target=_open, args=(address, fragment), daemon=True).start()


def _open(address: str, fragment: str) -> None:
    place = urlsplit(address)
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection((str(place.hostname), place.port or 80), timeout=1.0).close()
            break
        except OSError:
            time.sleep(0.05)
    is_open = _has_screen() and webbrowser.open(address + fragment)
    # If stdout is a terminal, `PageToken` prints the address.
    if not is_open and not sys.stdout.isatty():
        print(f"There is no browser to open. The page is at {address}", flush=True)


def _has_screen() -> bool:
    """Check whether windows can be shown. If not, do not try: Python may start a text browser in the terminal."""
    return sys.platform in ("win32", "darwin") or bool({"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"} & os.environ.keys())
