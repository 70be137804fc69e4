"""URLs as Go's `net/url` parses and writes them. Percent signs are resolved to bytes, as in Go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from policygen.cel.gotext import quote_bytes
from policygen.cel.netip import AddressError, parse_address
from policygen.kube.gotext import quote

Mode: TypeAlias = Literal["path", "host", "zone", "user", "query", "fragment"]

_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
_HOST_EXTRA: Final = frozenset(b"!$&'()*+,;=:[]<>\"")
_KEPT: Final[dict[Mode, frozenset[int]]] = {
    "path": frozenset(b"$&+,/:;=@"),
    "host": _HOST_EXTRA,
    "zone": _HOST_EXTRA,
    "user": frozenset(b"$&+,;="),
    "query": frozenset(),
    "fragment": frozenset(b"$&+,/:;=?@!()*"),
}
_VALID_ENCODED: Final = frozenset(b"!$&'()*+,;=:@[]%")
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_USERINFO: Final = frozenset(b"-._:~!$&'()*+,;=%@") | frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)


class UrlError(ValueError):
    """A text that is no URL; the message is Go's, without the outermost `parse "…": `."""


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL; `raw_path` is set where the path is not written as Go would write it."""

    scheme: str = ""
    opaque: str = ""
    user: str | None = None
    host: bytes = b""
    path: bytes = b""
    raw_path: str = ""
    raw_query: str = ""
    force_query: bool = False
    omit_host: bool = False
    fragment: bytes = b""
    raw_fragment: str = ""

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        return _decoded(self._host_and_port()[0])

    @property
    def port(self) -> str:
        """The port, or the empty text."""
        return _decoded(self._host_and_port()[1])

    def _host_and_port(self) -> tuple[bytes, bytes]:
        host, port = self.host, b""
        colon = host.rfind(b":")
        if colon >= 0 and _valid_port(_decoded(host[colon:])):
            host, port = host[:colon], host[colon + 1 :]
        if host.startswith(b"[") and host.endswith(b"]"):
            host = host[1:-1]
        return host, port

    @property
    def escaped_path(self) -> str:
        """The path as it was written where that is valid, otherwise as Go writes it."""
        if self.raw_path and _valid_encoded(self.raw_path, "path"):
            try:
                if unescape(self.raw_path, "path") == self.path:
                    return self.raw_path
            except UrlError:
                pass
        return "*" if self.path == b"*" else escape(self.path, "path")

    @property
    def query(self) -> dict[str, list[str]]:
        """The values of each key, in order; pairs that are malformed are left out."""
        found: dict[str, list[str]] = {}
        for pair in self.raw_query.split("&"):
            if not pair or ";" in pair:
                continue
            key, _, value = pair.partition("=")
            try:
                decoded = _decoded(unescape(key, "query")), _decoded(unescape(value, "query"))
            except UrlError:
                continue
            found.setdefault(decoded[0], []).append(decoded[1])
        return found

    def __str__(self) -> str:
        query = f"?{self.raw_query}" if self.force_query or self.raw_query else ""
        fragment = self.raw_fragment or escape(self.fragment, "fragment")
        tail = f"{query}#{fragment}" if fragment else query
        head = f"{self.scheme}:" if self.scheme else ""
        if self.opaque:
            return f"{head}{self.opaque}{tail}"
        path = self.escaped_path
        authority = self.host or self.user is not None
        if (authority or path) and (self.scheme or authority) and (authority or not self.omit_host):
            user = "" if self.user is None else f"{self.user}@"
            head += f"//{user}{escape(self.host, 'host')}"
        if path and not path.startswith("/") and self.host:
            head += "/"
        return f"{head}{path}{tail}"


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def parse_error(text: str, error: UrlError) -> str:
    """The whole message: `parse "…": …`."""
    return f"parse {quote(text)}: {error}"


def parse_request_uri(text: str) -> Url:
    """`url.ParseRequestURI`: an absolute URI or path, `#` is nothing special."""
    return _parse(text, via_request=True)


def parse(text: str) -> Url:
    """`url.Parse`, with a fragment."""
    head, _, fragment = text.partition("#")
    url = _parse(head, via_request=False)
    if not fragment:
        return url
    data = unescape(fragment, "fragment")
    raw = "" if escape(data, "fragment") == fragment else fragment
    return Url(
        url.scheme, url.opaque, url.user, url.host, url.path, url.raw_path, url.raw_query, url.force_query,
        url.omit_host, data, raw,
    )  # fmt: skip


def _parse(text: str, *, via_request: bool) -> Url:
    if any(char < " " or char == "\x7f" for char in text):
        raise UrlError("net/url: invalid control character in URL")
    if not text and via_request:
        raise UrlError("empty url")
    if text == "*":
        return Url(path=b"*")
    scheme, rest = _split_scheme(text)
    force_query = rest.endswith("?") and rest.count("?") == 1
    rest, _, raw_query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, rest, raw_query=raw_query, force_query=force_query)
        if via_request:
            raise UrlError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    user, host, omit_host = None, b"", False
    if rest.startswith("//") and (scheme or (not via_request and not rest.startswith("///"))):
        authority, slash, after = rest[2:].partition("/")
        rest = slash + after
        user, host = _parse_authority(authority)
    elif scheme and rest.startswith("/"):
        omit_host = True
    path = unescape(rest, "path")
    raw_path = "" if escape(path, "path") == rest else rest
    return Url(scheme, "", user, host, path, raw_path, raw_query, force_query, omit_host)


def _split_scheme(text: str) -> tuple[str, str]:
    for at, char in enumerate(text):
        if char == ":":
            if at == 0:
                raise UrlError("missing protocol scheme")
            return text[:at].lower(), text[at + 1 :]
        if not char.isascii() or not (char.isalpha() or (at and (char.isdigit() or char in "+-."))):
            break
    return "", text


def _parse_authority(authority: str) -> tuple[str | None, bytes]:
    userinfo, at, after = authority.rpartition("@")
    host = _parse_host(after)
    if not at:
        return None, host
    if not _USERINFO.issuperset(userinfo.encode("utf-8", "replace")):
        raise UrlError("net/url: invalid userinfo")
    name, colon, password = userinfo.partition(":")
    shown = escape(unescape(name, "user"), "user")
    if colon:
        shown += f":{escape(unescape(password, 'user'), 'user')}"
    return shown, host


def _parse_host(host: str) -> bytes:
    opening = host.rfind("[")
    if opening >= 0:
        return _parse_literal(host, opening)
    colon = host.find(":")
    if colon >= 0 and not _valid_port(host[colon:]):
        raise UrlError(f"invalid port {quote(host[colon:])} after host")
    return unescape(host, "host")


def _parse_literal(host: str, opening: int) -> bytes:
    closing = host.rfind("]")
    if closing < 0:
        raise UrlError("missing ']' in host")
    port = host[closing + 1 :]
    if not _valid_port(port):
        raise UrlError(f"invalid port {quote(port)} after host")
    name = host[opening + 1 : closing]
    zone_at = name.find("%25")
    if zone_at >= 0:
        data = unescape(name[:zone_at], "host") + unescape(name[zone_at:], "zone")
    else:
        data = unescape(name, "host")
    try:
        address = parse_address(_decoded(data))
    except AddressError as error:
        raise UrlError(f"invalid host: {error}") from None
    if address.bits == 32:
        raise UrlError("invalid IP-literal")
    return b"[" + data + b"]" + unescape(port, "host")


def _valid_port(text: str) -> bool:
    return not text or (text[0] == ":" and all(char in "0123456789" for char in text[1:]))


def _must_escape(byte: int, mode: Mode) -> bool:
    return byte not in _UNRESERVED and byte not in _KEPT[mode]


def escape(data: bytes, mode: Mode) -> str:
    """Bytes with percent signs where a part of a URL needs them."""
    return "".join(f"%{byte:02X}" if _must_escape(byte, mode) else chr(byte) for byte in data)


def unescape(text: str, mode: Mode) -> bytes:
    """The bytes that a part of a URL means."""
    data = text.encode("utf-8", "replace")
    out = bytearray()
    at = 0
    while at < len(data):
        byte = data[at]
        if byte == 0x25:
            out.append(_escaped_byte(data[at : at + 3], mode))
            at += 3
            continue
        if mode in ("host", "zone") and byte < 0x80 and _must_escape(byte, mode):
            raise UrlError(f"invalid character {quote(chr(byte))} in host name")
        out.append(0x20 if byte == 0x2B and mode == "query" else byte)
        at += 1
    return bytes(out)


def _escaped_byte(sequence: bytes, mode: Mode) -> int:
    if len(sequence) < 3 or sequence[1] not in _HEX or sequence[2] not in _HEX:
        raise UrlError(f"invalid URL escape {quote_bytes(sequence)}")
    byte = int(sequence[1:], 16)
    if sequence != b"%25":
        ascii_in_host = mode == "host" and byte < 0x80
        odd_in_zone = mode == "zone" and byte != 0x20 and _must_escape(byte, "host")
        if ascii_in_host or odd_in_zone:
            raise UrlError(f"invalid URL escape {quote_bytes(sequence)}")
    return byte


def _valid_encoded(text: str, mode: Mode) -> bool:
    data = text.encode("utf-8", "replace")
    return all(byte in _VALID_ENCODED or not _must_escape(byte, mode) for byte in data)
