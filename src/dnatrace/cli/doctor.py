"""`dnatrace doctor`."""

from dnatrace.cli.options import Json, print_json


def doctor(as_json: Json = False) -> None:
    """Tell versions, threads, and which optional parts are usable.

    Example: dnatrace doctor
    """
    from dnatrace.runs import health

    report = health.examine()
    if as_json:
        print_json(report)
    else:
        health.show(report)
