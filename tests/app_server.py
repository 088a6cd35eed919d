"""A real server of the live page on a free port of this machine, in a thread."""

import contextlib
import threading
import time

from dnatrace.app.door import HOST, Door
from dnatrace.app.serving import listen, server_of

PATIENCE = 300.0  # seconds that a test waits on a slow, busy machine before it fails
TOKEN = "token-of-tests"
# Small enough for seconds; what pages and tests ask about.
TINY = {"people": 300, "days": 12, "initially_infected": 8}


def question(seeds=2, b=None, **changes):
    """A question about a tiny city."""
    arms = {"a": {"preset": "quick", "set": TINY | changes}}
    if b is not None:
        arms["b"] = {"preset": "quick", "set": TINY | changes | b}
    return {"arms": arms, "seeds": seeds}


@contextlib.contextmanager
def running(store, workers=2):
    """Serve until the block ends; yields the address, the desk and the server."""
    door, listening = Door(store, workers), listen(0)
    port = listening.getsockname()[1]
    server = server_of(door, TOKEN, port)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{port}/{TOKEN}/", door.desk, server
    finally:
        server.should_exit = True
        thread.join()
        door.close()
        listening.close()


def until(condition, seconds=PATIENCE):
    """Wait until something holds; what it returned is returned."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"{condition} did not come true within {seconds} s")
