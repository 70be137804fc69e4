"""IP addresses (apiserver `library/ip.go`): without zones, and without IPv4 written as IPv6."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, ClassVar, Final

from policygen.cel import types
from policygen.cel.cost import STRING_FACTOR, first_text_cost, size_of
from policygen.cel.decls import Binding, Example, FunctionDecl, Overload
from policygen.cel.errors import EvalError
from policygen.cel.types import Type
from policygen.cel.values import Value
from policygen.kube.gotext import quote

if TYPE_CHECKING:
    from policygen.cel.netip import Address

IP_TYPE: Final = types.opaque("net.IP")
TYPES: Final = (IP_TYPE,)
"""Types whose names an expression may use."""


@dataclass(frozen=True, slots=True)
class IP:
    """An address as a CEL value."""

    cel_type_name: ClassVar[str] = "net.IP"
    address: Address

    @property
    def cel_size(self) -> int:
        """Bytes, for costs."""
        return self.address.bits // 8

    def __str__(self) -> str:
        return str(self.address)


@lru_cache(maxsize=1024)
def ip(text: str) -> IP:
    """The address that a text means."""
    from policygen.cel.netip import AddressError, parse_address

    try:
        address = parse_address(text)
    except AddressError as error:
        raise EvalError(
            f"IP Address {quote(text)} parse error during conversion from string: {error}"
        ) from None
    if address.zone:
        raise EvalError(f"IP address {quote(text)} with zone value is not allowed")
    if address.is_mapped:
        raise EvalError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return IP(address)


def is_ip(text: str) -> bool:
    """Whether a text is an address."""
    try:
        ip(text)
    except EvalError:
        return False
    return True


def is_canonical(text: str) -> bool:
    """Whether an address is written in its one canonical form."""
    return str(ip(text)) == text


def family(address: IP) -> int:
    """4 or 6."""
    return 4 if address.address.bits == 32 else 6


def _canonical_cost(args: Sequence[Value], _result: Value) -> int:
    return ceil(size_of(args[0]) * 2 * STRING_FACTOR)


def _of_text(
    name: str, overload: str, result: Type, bind: Binding, doc: str, *examples: Example
) -> FunctionDecl:
    return FunctionDecl(
        name,
        (
            Overload(
                overload,
                (types.STRING,),
                result,
                bind,
                cost=_canonical_cost if name == "ip.isCanonical" else first_text_cost,
                doc=doc,
                examples=examples,
            ),
        ),
    )


def _of_ip(
    name: str, overload: str, result: Type, bind: Binding, doc: str, *examples: Example
) -> FunctionDecl:
    return FunctionDecl(
        name, (Overload(overload, (IP_TYPE,), result, bind, member=True, doc=doc, examples=examples),)
    )


def _test(test: Callable[[Address], bool]) -> Binding:
    def bind(value: IP) -> bool:
        return test(value.address)

    return bind


FUNCTIONS: Final = (
    _of_text(
        "ip",
        "string_to_ip",
        IP_TYPE,
        ip,
        "the address that a text means",
        Example("ip('::1').family() == 6"),
        Example("ip('::ffff:1.2.3.4')", error='IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
    ),
    _of_text(
        "isIP", "is_ip", types.BOOL, is_ip, "whether a text is an address", Example("!isIP('10.0.0.256')")
    ),
    _of_text(
        "ip.isCanonical",
        "ip_is_canonical",
        types.BOOL,
        is_canonical,
        "whether an address is written in its canonical form",
        Example("!ip.isCanonical('2001:DB8::1')"),
    ),
    _of_ip("family", "ip_family", types.INT, family, "4 or 6", Example("ip('10.0.0.1').family() == 4")),
    _of_ip(
        "isUnspecified",
        "ip_is_unspecified",
        types.BOOL,
        _test(lambda address: address.is_unspecified),
        "whether this is `0.0.0.0` or `::`",
        Example("ip('::').isUnspecified()"),
    ),
    _of_ip(
        "isLoopback",
        "ip_is_loopback",
        types.BOOL,
        _test(lambda address: address.is_loopback),
        "whether this is a loopback address",
        Example("ip('127.0.0.1').isLoopback()"),
    ),
    _of_ip(
        "isLinkLocalMulticast",
        "ip_is_link_local_multicast",
        types.BOOL,
        _test(lambda address: address.is_link_local_multicast),
        "whether this is a link-local multicast address",
        Example("ip('ff02::1').isLinkLocalMulticast()"),
    ),
    _of_ip(
        "isLinkLocalUnicast",
        "ip_is_link_local_unicast",
        types.BOOL,
        _test(lambda address: address.is_link_local_unicast),
        "whether this is a link-local unicast address",
        Example("ip('169.254.1.1').isLinkLocalUnicast()"),
    ),
    _of_ip(
        "isGlobalUnicast",
        "ip_is_global_unicast",
        types.BOOL,
        _test(lambda address: address.is_global_unicast),
        "whether this is a global unicast address, private ones included",
        Example("ip('192.168.0.1').isGlobalUnicast()"),
    ),
    FunctionDecl(
        "string",
        (
            Overload(
                "ip_to_string",
                (IP_TYPE,),
                types.STRING,
                str,
                doc="an address in its canonical form",
                examples=(Example("string(ip('2001:DB8::1')) == '2001:db8::1'"),),
            ),
        ),
        fold=True,
    ),
)
