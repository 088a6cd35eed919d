"""`dnatrace doctor`."""

from dnatrace.cli._command import Answer, command, table


@command()
def doctor() -> Answer:
    """Print versions, threads, and which optional parts can be used.

    Example: dnatrace doctor
    """
    from dnatrace.runs import health

    report = health.examine()
    found = {
        "Python": f"{report['python']} on {report['machine']}",
        "threads": f"{report['threads']} of {report['cores']} cores",
        **report["libraries"],
        **{f"simulator {name}": note for name, note in report["simulator_notes"].items()},
        **{
            name: "installed" if part["installed"] else f"absent: {part['how']}"
            for name, part in report["parts"].items()
        },
    }
    rows = [{"part": name, "found": text} for name, text in found.items()]
    return Answer(values=report, shown=[f"dnatrace {report['version']}", table(rows)])
