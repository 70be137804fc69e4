"""The page `docs/cel-functions.md`: every library, function and overload, from the declarations."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from policygen.cel.decls import FunctionDecl, Overload
from policygen.cel.lib import LIBRARIES, Library

_HEAD = """\
# Functions of CEL

What expressions may call, as the API server declares it. "Since" is the version of the API server whose
**new** policies may use it; a server compiles new expressions with the libraries of the version before its
own, so that a roll-back stays possible. Expressions that are stored already may use everything.
"""


def render() -> str:
    """The text of the page."""
    return "\n".join((_HEAD, *(line for library in LIBRARIES for line in _library(library)))) + "\n"


def _library(library: Library) -> Iterator[str]:
    functions, macros = library.declarations(), library.macros
    if not functions and not macros:
        return
    yield f"## {library.name}"
    yield ""
    if library.devices_only:
        yield "Only in selectors of devices."
        yield ""
    elif library.since:
        yield f"Since Kubernetes 1.{library.since + 1}."
        yield ""
    if macros:
        names = ", ".join(dict.fromkeys(f"`{macro.name}`" for macro in macros))
        yield f"Macros: {names}."
        yield ""
    for function in functions:
        if not function.name.startswith(("@not", "@sort", "cel.@")):
            yield from _function(function)


def _function(function: FunctionDecl) -> Iterator[str]:
    yield f"### `{function.name}`"
    yield ""
    doc = function.doc or next((overload.doc for overload in function.overloads if overload.doc), "")
    if doc:
        yield f"{doc[0].upper()}{doc[1:]}."
        yield ""
    for overload in function.overloads:
        extra = f": {overload.doc}" if overload.doc and overload.doc != doc else ""
        yield f"- `{_signature(function.name, overload)}`{extra}"
    examples = [example for overload in function.overloads for example in overload.examples]
    if examples:
        yield ""
        yield "```"
        for example in examples:
            if example.error is not None:
                yield f"{example.expr}  // error: {example.error}"
            elif example.result is not None:
                yield f"{example.expr}  // {example.result}"
            else:
                yield example.expr
        yield "```"
    yield ""


_IN = "_ in _"


def _signature(name: str, overload: Overload) -> str:
    params = [str(param) for param in overload.params]
    if "_" in (name[0], name[-1]) or name == "@in":
        return f"{_operation(_IN if name == '@in' else name, params)} -> {overload.result}"
    if overload.member:
        return f"{params[0]}.{name}({', '.join(params[1:])}) -> {overload.result}"
    return f"{name}({', '.join(params)}) -> {overload.result}"


def _operation(pattern: str, params: list[str]) -> str:
    """`_+_` with the operands' types in their places."""
    spaced = re.sub(r"(?<=_)([^_\[\]. ]+)(?=_)", r" \1 ", pattern)
    operands = iter(params)
    return re.sub("_", lambda _: next(operands), spaced)


if __name__ == "__main__":
    sys.stdout.write(render())
