"""Listen on this machine, open the browser, serve until interrupted."""

import asyncio
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl

import uvicorn

from dnatrace.app.door import HOST, Door
from dnatrace.errors import InputError

_LINKED = ("preset", "scenario", "b", "seeds", "view")  # what a link sets, beside a.… and b.…
_PATIENCE_SECONDS = 1  # for requests that are still open when the server ends


def serve(
    store: Path,
    *,
    port: int = 0,
    link: str = "",
    browser: bool = True,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve the page until it is interrupted.

    Args:
        store: the directory in which runs are kept.
        port: the port to listen on; 0 for any free one.
        link: the link of an earlier page, whose settings are restored.
        browser: whether to open a browser.
        announce: called with the address when it can be opened.
    """
    if store.exists() and not store.is_dir():
        raise InputError(f"{store}: is a file, not a directory")
    settings = settings_of(link) if link else ""
    listening = listen(port)
    port, token = listening.getsockname()[1], secrets.token_urlsafe(18)
    door = Door(store)
    address = f"http://{HOST}:{port}/{token}/{settings}"
    server = server_of(door, token, port)
    announce(address)
    if browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    try:
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    finally:
        door.close()
        listening.close()


def settings_of(link: str) -> str:
    """Return the end of a link, from its # on; raise unless settings of the page are there.

    As in the page, the end may stand alone, also without its #.
    """
    start, mark, end = link.strip().partition("#")
    end = end if mark else start
    names = [name for name, _ in parse_qsl(end, keep_blank_values=True)]
    if any(name in _LINKED or name.startswith(("a.", "b.")) for name in names):
        return f"#{end}"
    raise InputError(
        f"{link!r} is not a link of this page, which ends like #preset=quick; "
        "a store is given with --store"
    )


def server_of(door: Door, token: str, port: int) -> uvicorn.Server:
    """Return the server of a door."""
    config = uvicorn.Config(
        door.application(token, port),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE_SECONDS,
    )
    return _Server(config, door)


class _Server(uvicorn.Server):
    """A server that closes its door before it ends, so that no request waits for ever."""

    def __init__(self, config: uvicorn.Config, door: Door) -> None:
        super().__init__(config)
        self._door = door

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let what is under way come to an end, then end."""
        await asyncio.to_thread(self._door.close)
        await super().shutdown(sockets)


def listen(port: int) -> socket.socket:
    """Return a socket that only this machine can reach."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise InputError(f"port {port} cannot be used: {error.strerror or error}") from error
    listening.listen()
    return listening
