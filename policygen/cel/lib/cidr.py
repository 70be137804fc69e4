"""IP networks (apiserver `library/cidr.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, ClassVar, Final

from policygen.cel import types
from policygen.cel.cost import STRING_FACTOR, first_text_cost, size_of, text_cost
from policygen.cel.decls import CallEstimate, Estimated, Example, FunctionDecl, Overload, Range
from policygen.cel.errors import EvalError, NoSuchOverloadError
from policygen.cel.lib.ip import IP, IP_TYPE, ip
from policygen.cel.values import Value
from policygen.kube.gotext import quote

if TYPE_CHECKING:
    from policygen.cel.netip import Prefix

CIDR_TYPE: Final = types.opaque("net.CIDR")
TYPES: Final = (CIDR_TYPE,)
"""Types whose names an expression may use."""

_UNPARSED = "network address parse error during conversion from string: "


@dataclass(frozen=True, slots=True)
class CIDR:
    """A network as a CEL value."""

    cel_type_name: ClassVar[str] = "net.CIDR"
    prefix: Prefix

    @property
    def cel_size(self) -> int:
        """Bytes of the network part, for costs."""
        return ceil(self.prefix.length / 8)

    def __str__(self) -> str:
        return str(self.prefix)


@lru_cache(maxsize=1024)
def cidr(text: str) -> CIDR:
    """The network that a text means."""
    from policygen.cel.netip import AddressError, parse_prefix

    try:
        prefix = parse_prefix(text)
    except AddressError as error:
        raise EvalError(f"{_UNPARSED}{_UNPARSED}{error}") from None
    if prefix.address.is_mapped:
        raise EvalError(f"{_UNPARSED}IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return CIDR(prefix)


def is_cidr(text: str) -> bool:
    """Whether a text is a network."""
    try:
        cidr(text)
    except EvalError:
        return False
    return True


def contains_ip(network: CIDR, address: IP) -> bool:
    """Whether an address lies in the network."""
    return network.prefix.contains(address.address)


def contains_ip_text(network: CIDR, text: str) -> bool:
    """The same for a text; one that is no address is no overload to the server."""
    try:
        return contains_ip(network, ip(text))
    except EvalError:
        raise NoSuchOverloadError from None


def contains_cidr(network: CIDR, other: CIDR) -> bool:
    """Whether the network holds all of another."""
    return network.prefix.covers(other.prefix)


def contains_cidr_text(network: CIDR, text: str) -> bool:
    """The same for a text; its error is the call's."""
    return contains_cidr(network, cidr(text))


def address_of(network: CIDR) -> IP:
    """The address before the slash."""
    return IP(network.prefix.address)


def prefix_length(network: CIDR) -> int:
    """The number behind the slash."""
    return network.prefix.length


def masked(network: CIDR) -> CIDR:
    """The network with the bits of the host zero."""
    return CIDR(network.prefix.masked)


def _ip_cost(args: Sequence[Value], _result: Value) -> int:
    size = size_of(args[0])
    return ceil((size + size) * STRING_FACTOR)


def _ip_text_cost(args: Sequence[Value], result: Value) -> int:
    return _ip_cost(args, result) + text_cost(args[1])


def _cidr_cost(args: Sequence[Value], result: Value) -> int:
    return _ip_cost(args, result) + text_cost(args[0]) + 1


def _cidr_text_cost(args: Sequence[Value], result: Value) -> int:
    return _cidr_cost(args, result) + text_cost(args[1])


_BYTES: Final = Range(4, 16)


def _estimate_ip(args: Sequence[Estimated]) -> CallEstimate:
    cost = (_BYTES + _BYTES).scaled(STRING_FACTOR)
    return CallEstimate(cost + args[1].size_or_any.scaled(STRING_FACTOR) if _is_text(args[1]) else cost)


def _estimate_cidr(args: Sequence[Estimated]) -> CallEstimate:
    cost = (_BYTES + _BYTES).scaled(STRING_FACTOR) + _BYTES.scaled(STRING_FACTOR) + Range(1, 1)
    return CallEstimate(cost + args[1].size_or_any.scaled(STRING_FACTOR) if _is_text(args[1]) else cost)


def _is_text(arg: Estimated) -> bool:
    return arg.type == types.STRING


FUNCTIONS: Final = (
    FunctionDecl(
        "cidr",
        (
            Overload(
                "string_to_cidr",
                (types.STRING,),
                CIDR_TYPE,
                cidr,
                cost=first_text_cost,
                doc="the network that a text means",
                examples=(Example("cidr('10.0.0.0/8').prefixLength() == 8"),),
            ),
        ),
    ),
    FunctionDecl(
        "isCIDR",
        (
            Overload(
                "is_cidr",
                (types.STRING,),
                types.BOOL,
                is_cidr,
                cost=first_text_cost,
                doc="whether a text is a network",
                examples=(Example("!isCIDR('10.0.0.0/33')"),),
            ),
        ),
    ),
    FunctionDecl(
        "containsIP",
        (
            Overload(
                "cidr_contains_ip_string",
                (CIDR_TYPE, types.STRING),
                types.BOOL,
                contains_ip_text,
                member=True,
                cost=_ip_text_cost,
                estimate=_estimate_ip,
                doc="whether an address lies in the network",
                examples=(Example("cidr('10.0.0.0/8').containsIP('10.1.2.3')"),),
            ),
            Overload(
                "cidr_contains_ip_ip",
                (CIDR_TYPE, IP_TYPE),
                types.BOOL,
                contains_ip,
                member=True,
                cost=_ip_cost,
                estimate=_estimate_ip,
            ),
        ),
        cost=_ip_cost,
    ),
    FunctionDecl(
        "containsCIDR",
        (
            Overload(
                "cidr_contains_cidr_string",
                (CIDR_TYPE, types.STRING),
                types.BOOL,
                contains_cidr_text,
                member=True,
                cost=_cidr_text_cost,
                estimate=_estimate_cidr,
                doc="whether the network holds all of another",
                examples=(
                    Example("cidr('10.0.0.0/8').containsCIDR('10.2.0.0/16')"),
                    Example("!cidr('10.0.0.0/8').containsCIDR(cidr('0.0.0.0/0'))"),
                ),
            ),
            Overload(
                "cidr_contains_cidr",
                (CIDR_TYPE, CIDR_TYPE),
                types.BOOL,
                contains_cidr,
                member=True,
                cost=_cidr_cost,
                estimate=_estimate_cidr,
            ),
        ),
        cost=_cidr_cost,
    ),
    FunctionDecl(
        "ip",
        (
            Overload(
                "cidr_ip",
                (CIDR_TYPE,),
                IP_TYPE,
                address_of,
                member=True,
                doc="the address before the slash",
                examples=(Example("cidr('10.0.0.1/8').ip() == ip('10.0.0.1')"),),
            ),
        ),
    ),
    FunctionDecl(
        "prefixLength",
        (
            Overload(
                "cidr_prefix_length",
                (CIDR_TYPE,),
                types.INT,
                prefix_length,
                member=True,
                doc="the number behind the slash",
                examples=(Example("cidr('::1/128').prefixLength() == 128"),),
            ),
        ),
    ),
    FunctionDecl(
        "masked",
        (
            Overload(
                "cidr_masked",
                (CIDR_TYPE,),
                CIDR_TYPE,
                masked,
                member=True,
                doc="the network with the bits of the host zero",
                examples=(Example("cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')"),),
            ),
        ),
    ),
    FunctionDecl(
        "string",
        (
            Overload(
                "cidr_to_string",
                (CIDR_TYPE,),
                types.STRING,
                str,
                doc="a network as text",
                examples=(Example("string(cidr('10.0.0.1/8')) == '10.0.0.1/8'"),),
            ),
        ),
        fold=True,
    ),
)
