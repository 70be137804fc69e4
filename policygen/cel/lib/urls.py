"""URLs (apiserver `library/urls.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from policygen.cel import types
from policygen.cel.cost import STRING_FACTOR, first_text_cost
from policygen.cel.decls import Binding, CallEstimate, Estimated, Example, FunctionDecl, Overload
from policygen.cel.errors import EvalError
from policygen.cel.types import Type

if TYPE_CHECKING:
    from policygen.cel.gourl import Url

URL_TYPE: Final = types.struct("kubernetes.URL")


@dataclass(frozen=True, slots=True, eq=False)
class URL:
    """A URL as a CEL value; equal when written alike."""

    cel_type_name: ClassVar[str] = "kubernetes.URL"
    url: Url

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URL) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return str(self.url)


_KEPT: Final = 256
"""Longer texts are read anew each time, so that the memory of what was read stays small."""


def url(text: str) -> URL:
    """The URL that a text means: absolute, or an absolute path."""
    return _kept(text) if len(text) <= _KEPT else _parsed(text)


@lru_cache(maxsize=1024)
def _kept(text: str) -> URL:
    return _parsed(text)


def _parsed(text: str) -> URL:
    from policygen.cel.gourl import UrlError, parse, parse_error, parse_request_uri

    try:
        parse_request_uri(text)
        return URL(parse(text))
    except UrlError as error:
        message = parse_error(text, error)
        raise EvalError(f"URL parse error during conversion from string: {message}") from None


def is_url(text: str) -> bool:
    """Whether a text is a URL."""
    from policygen.cel.gourl import UrlError, parse_request_uri

    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


def _estimate(args: Sequence[Estimated]) -> CallEstimate:
    size = args[0].size_or_any
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def _accessor(
    name: str, overload: str, result: Type, bind: Binding, *, doc: str, example: str
) -> FunctionDecl:
    return FunctionDecl(
        name,
        (Overload(overload, (URL_TYPE,), result, bind, member=True, doc=doc, examples=(Example(example),)),),
    )


def _scheme(value: URL) -> str:
    return value.url.scheme


def _host(value: URL) -> str:
    return value.url.host.decode("utf-8", "replace")


def _hostname(value: URL) -> str:
    return value.url.hostname


def _port(value: URL) -> str:
    return value.url.port


def _escaped_path(value: URL) -> str:
    return value.url.escaped_path


def _query(value: URL) -> dict[str, Any]:
    return dict(value.url.query)


_SAMPLE = "url('https://user@example.com:80/a%20b?k=1&k=2')"

FUNCTIONS: Final = (
    FunctionDecl(
        "url",
        (
            Overload(
                "string_to_url",
                (types.STRING,),
                URL_TYPE,
                url,
                cost=first_text_cost,
                estimate=_estimate,
                doc="the URL that a text means: absolute, or an absolute path",
                examples=(
                    Example("url('https://example.com/').getHost() == 'example.com'"),
                    Example("url('relative')", error='parse "relative": invalid URI for request'),
                ),
            ),
        ),
    ),
    FunctionDecl(
        "isURL",
        (
            Overload(
                "is_url_string",
                (types.STRING,),
                types.BOOL,
                is_url,
                doc="whether a text is a URL",
                examples=(Example("isURL('/path')"), Example("!isURL('path')")),
            ),
        ),
    ),
    _accessor(
        "getScheme",
        "url_get_scheme",
        types.STRING,
        _scheme,
        doc="the scheme",
        example=f"{_SAMPLE}.getScheme() == 'https'",
    ),
    _accessor(
        "getHost",
        "url_get_host",
        types.STRING,
        _host,
        doc="the host with its port",
        example=f"{_SAMPLE}.getHost() == 'example.com:80'",
    ),
    _accessor(
        "getHostname",
        "url_get_hostname",
        types.STRING,
        _hostname,
        doc="the host without port and brackets",
        example="url('http://[::1]:80/').getHostname() == '::1'",
    ),
    _accessor(
        "getPort",
        "url_get_port",
        types.STRING,
        _port,
        doc="the port, or the empty text",
        example=f"{_SAMPLE}.getPort() == '80'",
    ),
    _accessor(
        "getEscapedPath",
        "url_get_escaped_path",
        types.STRING,
        _escaped_path,
        doc="the path as it is written in the URL",
        example=f"{_SAMPLE}.getEscapedPath() == '/a%20b'",
    ),
    _accessor(
        "getQuery",
        "url_get_query",
        types.map_of(types.STRING, types.list_of(types.STRING)),
        _query,
        doc="the values of each key of the query",
        example=f"{_SAMPLE}.getQuery() == {{'k': ['1', '2']}}",
    ),
)
