"""Listen on this machine, open the browser, serve until interrupted."""

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn

from dnatrace.app.door import HOST, Door
from dnatrace.errors import InputError

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
    listening = listen(port)
    port, token = listening.getsockname()[1], secrets.token_urlsafe(18)
    door = Door(store)
    _, mark, settings = link.partition("#")
    address = f"http://{HOST}:{port}/{token}/{mark}{settings}"
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


def server_of(door: Door, token: str, port: int) -> uvicorn.Server:
    """Return the server of a door."""
    return uvicorn.Server(
        uvicorn.Config(
            door.application(token, port),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_PATIENCE_SECONDS,
        )
    )


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
