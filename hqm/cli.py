"""The command line: `hqm list · fetch · new · check · forms · plan · run · score · audit · gate · report · compare · export · import`."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import typer

from hqm.commands import asking, comparing, data, importing, release, results
from hqm.commands.failure import FAILURE, report_failure
from hqm.commands.help import WIDTH, GroupedCommand
from hqm.commands.shared import command
from hqm.errors import HQMError, UsageError

app = typer.Typer(
    name="hqm",
    help="A psychometric auditor for hallucination benchmarks of large vision-language models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": WIDTH},
)

COMMANDS: dict[str, Callable[..., None]] = {
    "list": data.list_,
    "fetch": data.fetch_,
    "new": release.new,
    "check": data.check,
    "forms": data.forms,
    "plan": asking.plan,
    "run": asking.run,
    "audit": asking.audit,
    "gate": release.gate,
    "score": results.score,
    "report": results.report,
    "compare": comparing.compare,
    "export": results.export,
    "import": importing.import_,
}
"""Every command by its name."""

for _name, _function in COMMANDS.items():
    app.command(_name, cls=GroupedCommand)(_function)


def main() -> None:
    """Run the command line; an error of HQM is one sentence and a non-zero exit status.

    What is no error of HQM's own is a fault in the program: it ends with status 70, and a file keeps what happened.
    """
    for stream in (sys.stdout, sys.stderr):
        # a terminal, or a file's name, may not know every character that a benchmark has
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except HQMError as error:
        print(f"hqm: {error}", file=sys.stderr)
        raise SystemExit(2 if isinstance(error, UsageError) else 1) from None
    except KeyboardInterrupt:
        print(f"hqm: interrupted. What was answered is stored; go on with\n  {command()}", file=sys.stderr)
        raise SystemExit(130) from None
    except Exception as error:
        if isinstance(error, OSError) and error.filename and error.strerror:
            # what the machine refuses is no fault of the program: a name that is too long, a folder that is closed
            remedy = "Name another file or folder, or correct its permissions."
            print(f"hqm: {str(error.filename)[:300]}: {error.strerror}. {remedy}", file=sys.stderr)
            raise SystemExit(1) from None
        print(f"hqm: {report_failure(error)}", file=sys.stderr)
        raise SystemExit(FAILURE) from None


if __name__ == "__main__":
    main()
