"""Argument parsing and dispatch; every command lives in a module of its own that is imported when called."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

import click

from policygen import __version__
from policygen.cli import exit as codes
from policygen.diagnostics import PolicygenError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from policygen.diagnostics import Diagnostic

COMMANDS: dict[str, str] = {
    "init": "Write a first spec, its schema and fixtures.",
    "build": "Compile specs into Kubernetes manifests.",
    "schema": "Print the JSON Schema of the spec language.",
    "verify": "Prove that policies do what was meant.",
    "run": "Show what the API server does with objects under policies.",
    "explain": "Say in plain words what will happen to an object, and why.",
    "diff": "Compare the effects of two specs, bundles or git revisions.",
    "devices": "Match selectors with devices, allocate claims, generate inventories.",
    "eval": "Evaluate a CEL expression as the API server does.",
    "help-error": "Print the page of an error's code.",
    "conformance": "Compare with recorded answers of the API server.",
    "bench": "Measure how fast policygen is here.",
}
"""Command -> one line of help. `policygen.cli.commands.<command>` holds a click command named `command`."""

FORMATS = ("full", "concise", "json", "github")


class LazyGroup(click.Group):
    """Knows the commands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"policygen.cli.commands.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        _accept_error_format(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _accept_error_format(command: click.Command) -> None:
    """Let a command and those in it take `--error-format`, too; only the main help shows the option."""
    if any(param.name == "error_format" for param in command.params):
        return
    option = click.Option(
        ["--error-format"],
        type=click.Choice(FORMATS),
        hidden=True,
        expose_value=False,
        callback=_choose_error_format,
    )
    command.params.append(option)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _accept_error_format(inner)


def _choose_error_format(context: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.find_root().params["error_format"] = value


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="policygen")
@click.option(
    "--error-format",
    type=click.Choice(FORMATS),
    default="full",
    help="How diagnostics are written to stderr; may also stand behind the command.",
)
def cli(error_format: str) -> None:
    """Compile GPU placement and quota policy for Kubernetes, and prove offline what it does."""


def report(diagnostics: Iterable[Diagnostic]) -> None:
    """Write diagnostics to stderr in the format that the user chose."""
    items = tuple(diagnostics)
    if not items:
        return
    context = click.get_current_context(silent=True)
    chosen = context.find_root().params.get("error_format", "full") if context else "full"
    module = import_module(f"policygen.render.{chosen}")
    text = module.render(items, color=_wants_color()) if chosen == "full" else module.render(items)
    click.echo(text, err=True, nl=False, color=_wants_color())


def _wants_color() -> bool:
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ


def main() -> NoReturn:
    """Run the command line and exit with one of `policygen.cli.exit`."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; nothing that a user can do ends in a traceback."""
    context: click.Context | None = None
    try:
        with cli.make_context("policygen", list(arguments)) as context:
            try:
                result = cli.invoke(context)
            except PolicygenError as error:
                report(error.diagnostics)
                return codes.INVALID
            return result if isinstance(result, int) else codes.OK
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return codes.USAGE
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return codes.INTERRUPTED
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - the reader is gone; nothing may be written at exit
        return codes.OK
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            return _internal_error()
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - what is left would fail again at exit
        click.echo(f"cannot write the output: {os.strerror(error.errno).lower()}", err=True)
        return codes.INVALID
    except Exception:  # noqa: BLE001 - the last resort: a bug of ours, shown as one
        return _internal_error()


def _internal_error() -> int:
    import traceback

    click.echo(traceback.format_exc(), err=True)
    click.echo(
        f"this is a bug in policygen {__version__}: please report the text above and the input", err=True
    )
    return codes.INTERNAL
