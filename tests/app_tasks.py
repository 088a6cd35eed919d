"""What workers of tests do, in a module that is quick to import."""

import os
import time


def nothing():
    """Warm up for nothing."""


def ends():
    """Warm up and end."""
    os._exit(3)


def dies(tell):
    tell("dying")
    os._exit(7)


def sleeps(tell):
    tell("asleep")
    time.sleep(60)
