"""Open the web page in this machine's browser as soon as the server answers.

`PageToken` calls this module for `prefrag FOLDER`. The waiting happens in a thread, so that the server can start.
"""

import os
import socket
import sys
import threading
import time
import webbrowser
from urllib.parse import urlsplit

# How many seconds to wait for the server. After this time, the browser is opened even if nothing answers.
_SECONDS = 60.0


def open_page(address: str, fragment: str) -> None:
    """Open a page in the browser once its server answers. This function itself returns at once.

    If no browser opens, the address is printed. At a terminal it is not printed, because `PageToken` prints it there.

    :param address: The address of the page, such as ``http://127.0.0.1:1416/``.
    :param fragment: The part to append to the address in the browser, beginning with ``#``. It holds the token, so it
        is never printed here.
    """
    threading.Thread(target=_open, args=(address, fragment), daemon=True).start()


def _open(address: str, fragment: str) -> None:
    """Wait until the server accepts a connection, then open the page. This runs in a thread."""
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
    """Check whether windows can be shown on this machine.

    Without windows, no browser may be opened: Python could start a text browser in the terminal.
    """
    if sys.platform in ("win32", "darwin"):
        return True
    return any(variable in os.environ for variable in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
