"""`policygen eval`: one CEL expression -> value, type and cost, or the server's error."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from policygen.cli import exit as codes
from policygen.diagnostics import fail, suggestion

if TYPE_CHECKING:
    from policygen.cli.session import Session

_LATEST = "1.36"
_OPTIONS = {
    "object": "--object",
    "oldObject": "--old-object",
    "params": "--params",
    "namespaceObject": "--namespace",
}
"""Variable -> the option that gives it."""


@click.command("eval")
@click.argument("expression", required=False)
@click.option("--object", "object_file", type=click.Path(path_type=Path), help="Manifest that is `object`.")
@click.option("--old-object", type=click.Path(path_type=Path), help="Manifest that is `oldObject`.")
@click.option("--params", type=click.Path(path_type=Path), help="Manifest that is `params`.")
@click.option("--namespace", type=click.Path(path_type=Path), help="Manifest that is `namespaceObject`.")
@click.option(
    "--var", "variables", multiple=True, metavar="NAME=YAML", help="A variable; `NAME=@FILE` reads it."
)
@click.option("--device", type=click.Path(path_type=Path), help="ResourceSlice or device: a DRA selector.")
@click.option(
    "--kubernetes", default=_LATEST, metavar="VERSION", show_default=True, help="The server's version."
)
@click.option(
    "--stored", is_flag=True, help="As in a policy that is already stored: all libraries are known."
)
@click.option("--cost", is_flag=True, help="Print the cost as well.")
@click.option("--ast", "tree", is_flag=True, help="Print the checked tree instead of the value.")
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="Form of the value."
)
def command(
    expression: str | None,
    object_file: Path | None,
    old_object: Path | None,
    params: Path | None,
    namespace: Path | None,
    variables: tuple[str, ...],
    device: Path | None,
    kubernetes: str,
    stored: bool,
    cost: bool,
    tree: bool,
    output: str,
) -> int:
    """Evaluate a CEL expression as the API server does.

    Without EXPRESSION, read expressions line by line (with a history at a terminal; `:help` says more). The
    exit code is 1 when evaluation fails and 2 when the expression does not compile.
    """
    from policygen.cli.session import Session
    from policygen.kube.versions import parse

    version = parse(kubernetes)
    files = {"object": object_file, "oldObject": old_object, "params": params, "namespaceObject": namespace}
    given = {name: _manifest(path, _OPTIONS[name]) for name, path in files.items() if path is not None}
    given |= dict(_variable(text) for text in variables)
    if device is not None:
        if given:
            raise click.UsageError("--device is for selectors, which see nothing but `device`")
        session = Session.for_device(version, _device(device), output=output, cost=cost, tree=tree)
    else:
        session = Session.for_policy(version, given, stored=stored, output=output, cost=cost, tree=tree)
    if expression is None:
        return _interact(session)
    code = session.run(expression)
    if code == codes.FAILED and device is None:
        _say_what_is_missing(expression, given)
    return code


def _say_what_is_missing(expression: str, given: Mapping[str, object]) -> None:
    """Name the options for the variables that an expression which failed speaks of."""
    code = re.sub(r"""'[^']*'|"[^"]*\"""", "''", expression)
    for name, option in _OPTIONS.items():
        if name not in given and re.search(rf"(?<![\w.]){name}\b", code):
            click.echo(f"note: no `{option}` was given, so `{name}` is null", err=True)


def _manifest(path: Path, option: str) -> object:
    """The one value of a YAML or JSON file."""
    from policygen.kube.reader import load, split_stream

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        fail("unreadable-file", f"cannot read `{path}`: {error.strerror or error}")
    except UnicodeDecodeError:
        fail("unreadable-file", f"cannot read `{path}`: it is not UTF-8")
    stream = BytesIO(text.encode("utf-8", "surrogatepass"))
    documents = list(split_stream(stream, str(path)))
    if len(documents) > 1:
        values = [value for raw in documents if (value := load(raw.data.decode(), str(path))) is not None]
    else:
        values = [load(text, str(path))]
    if len(values) > 1:
        fail(
            "several-objects",
            f"`{path}` holds {len(values)} objects, `{option}` takes one",
            help=("write the object that you mean into a file of its own",),
        )
    if not values or values[0] is None:
        fail("empty-manifest", f"`{path}` holds no object")
    return values[0]


def _variable(text: str) -> tuple[str, object]:
    from policygen.kube.reader import load

    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise click.UsageError(f"--var needs NAME=YAML, not `{text}`")
    if value.startswith("@"):
        return name, _manifest(Path(value[1:]), "--var")
    return name, load(value, f"--var {name}")


def _device(path: Path) -> dict[str, object]:
    """The first device of a ResourceSlice, or a device that is written alone with its `driver`."""
    from policygen.dra.convert import read_device, read_slice
    from policygen.dra.selectors import device_value

    manifest = _manifest(path, "--device")
    if isinstance(manifest, dict) and manifest.get("kind") == "ResourceSlice":
        found = read_slice(manifest).devices
        if not found:
            fail("no-inventory", f"`{path}` holds no device")
        return device_value(found[0])
    if not isinstance(manifest, dict) or not isinstance(manifest.get("driver"), str):
        near = suggestion("driver", manifest) if isinstance(manifest, dict) else None
        hint = [f"did you mean `driver` by `{near}`?"] if near and near != "driver" else []
        fail("no-inventory", f"`{path}` is neither a ResourceSlice nor a device with its `driver`", help=hint)
    return device_value(read_device({"name": "device", **manifest}, manifest["driver"], "pool"))


def _interact(session: Session) -> int:
    if not sys.stdin.isatty():
        worst = codes.OK
        for line in sys.stdin:
            if line.strip():
                worst = max(worst, session.enter(line.strip()))
        return worst
    from policygen.cli.history import history

    click.echo("CEL as the API server evaluates it. `:help` says more, an empty line ends.")
    with history("eval"):
        while line := _ask():
            session.enter(line)
    return codes.OK


def _ask() -> str:
    try:
        return input("> ").strip()
    except EOFError:
        click.echo()
        return ""
