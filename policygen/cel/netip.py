"""IP addresses and prefixes as Go's `net/netip` reads, writes and classifies them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from policygen.cel.gotext import parse_int
from policygen.kube.gotext import quote

_HEX: Final = frozenset("0123456789abcdefABCDEF")
_DIGITS: Final = frozenset("0123456789")


class AddressError(ValueError):
    """A text that is no address or prefix; the message is Go's."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address of 32 or 128 bits."""

    bits: int
    value: int
    zone: str = ""

    @property
    def is_mapped(self) -> bool:
        """Whether this is an IPv4 address written as IPv6 (`::ffff:1.2.3.4`)."""
        return self.bits == 128 and self.value >> 32 == 0xFFFF

    @property
    def is_unspecified(self) -> bool:
        """`0.0.0.0` or `::`."""
        return self.value == 0 and not self.zone

    @property
    def is_loopback(self) -> bool:
        """`127.0.0.0/8` or `::1`."""
        return self.value >> 24 == 127 if self.bits == 32 else self.value == 1

    @property
    def is_multicast(self) -> bool:
        """`224.0.0.0/4` or `ff00::/8`."""
        return self.value >> 28 == 0xE if self.bits == 32 else self.value >> 120 == 0xFF

    @property
    def is_link_local_multicast(self) -> bool:
        """`224.0.0.0/24` or `ff02::/16` with any flags."""
        if self.bits == 32:
            return self.value >> 8 == 0xE00000
        return self.value >> 112 & 0xFF0F == 0xFF02

    @property
    def is_link_local_unicast(self) -> bool:
        """`169.254.0.0/16` or `fe80::/10`."""
        return self.value >> 16 == 0xA9FE if self.bits == 32 else self.value >> 118 == 0xFE80 >> 6

    @property
    def is_global_unicast(self) -> bool:
        """Neither of the above, nor the IPv4 broadcast address; private addresses count."""
        if self.value == 0 or (self.bits == 32 and self.value == 0xFFFFFFFF):
            return False
        return not (self.is_loopback or self.is_multicast or self.is_link_local_unicast)

    def __str__(self) -> str:
        if self.bits == 32:
            return ".".join(str(self.value >> shift & 0xFF) for shift in (24, 16, 8, 0))
        text = _mapped_text(self.value) if self.is_mapped else _hex_text(self.value)
        return f"{text}%{self.zone}" if self.zone else text


def _mapped_text(value: int) -> str:
    return f"::ffff:{Address(32, value & 0xFFFFFFFF)}"


def _hex_text(value: int) -> str:
    """Groups in hexadecimal; the longest run of zero groups, the first of equal ones, becomes `::`."""
    groups = [value >> shift & 0xFFFF for shift in range(112, -1, -16)]
    start = end = at = 0
    while at < 8:
        stop = at
        while stop < 8 and groups[stop] == 0:
            stop += 1
        if stop - at >= 2 and stop - at > end - start:
            start, end = at, stop
        at = max(stop, at + 1)
    shown = [f"{group:x}" for group in groups]
    if end == 0:
        return ":".join(shown)
    return f"{':'.join(shown[:start])}::{':'.join(shown[end:])}"


@dataclass(frozen=True, slots=True)
class Prefix:
    """An address and how many of its bits name the network."""

    address: Address
    length: int

    @property
    def masked(self) -> Prefix:
        """With the other bits zero."""
        host = self.address.bits - self.length
        return Prefix(Address(self.address.bits, self.address.value >> host << host), self.length)

    def contains(self, address: Address) -> bool:
        """Whether an address lies in the network."""
        if address.bits != self.address.bits or address.zone:
            return False
        host = self.address.bits - self.length
        return address.value >> host == self.address.value >> host

    def covers(self, other: Prefix) -> bool:
        """Whether the network holds all of another."""
        return self.length <= other.length and self.contains(other.address)

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"


def parse_address(text: str) -> Address:
    """`netip.ParseAddr`."""
    for char in text:
        if char == ".":
            return Address(32, _parse_v4(text, text))
        if char == ":":
            return _parse_v6(text)
        if char == "%":
            raise _invalid(text, "missing IPv6 address")
    raise _invalid(text, "unable to parse IP")


def _invalid(text: str, problem: str, at: str = "") -> AddressError:
    place = f" (at {quote(at)})" if at else ""
    return AddressError(f"ParseAddr({quote(text)}): {problem}{place}")


def _parse_v4(whole: str, text: str) -> int:
    fields: list[int] = []
    value = digits = 0
    for at, char in enumerate(text):
        if char in _DIGITS:
            if digits == 1 and value == 0:
                raise _invalid(whole, "IPv4 field has octet with leading zero")
            value = value * 10 + int(char)
            digits += 1
            if value > 255:
                raise _invalid(whole, "IPv4 field has value >255")
        elif char == ".":
            if at in (0, len(text) - 1) or text[at - 1] == ".":
                raise _invalid(whole, "IPv4 field must have at least one digit", text[at:])
            if len(fields) == 3:
                raise _invalid(whole, "IPv4 address too long")
            fields.append(value)
            value = digits = 0
        else:
            raise _invalid(whole, "unexpected character", text[at:])
    if len(fields) < 3:
        raise _invalid(whole, "IPv4 address too short")
    return fields[0] << 24 | fields[1] << 16 | fields[2] << 8 | value


def _parse_v6(whole: str) -> Address:
    text, percent, zone = whole.partition("%")
    if percent and not zone:
        raise _invalid(whole, "zone must be a non-empty string")
    groups: list[int] = []
    ellipsis = -1
    if text.startswith("::"):
        ellipsis, text = 0, text[2:]
        if not text:
            return Address(128, 0, zone)
    while len(groups) < 8:
        end = _group_end(whole, text)
        if text[end : end + 1] == ".":
            groups += _embedded(whole, text, len(groups), ellipsis)
            text = ""
            break
        groups.append(int(text[:end], 16))
        text = text[end:]
        if not text:
            break
        if text[0] != ":":
            raise _invalid(whole, "unexpected character, want colon", text)
        if len(text) == 1:
            raise _invalid(whole, "colon must be followed by more characters", text)
        text = text[1:]
        if text[0] == ":":
            if ellipsis >= 0:
                raise _invalid(whole, "multiple :: in address", text)
            ellipsis, text = len(groups), text[1:]
            if not text:
                break
    if text:
        raise _invalid(whole, "trailing garbage after address", text)
    return Address(128, _expanded(whole, groups, ellipsis), zone)


def _group_end(whole: str, text: str) -> int:
    end = 0
    while end < len(text) and text[end] in _HEX:
        if end > 3:
            raise _invalid(whole, "each group must have 4 or fewer digits", text)
        end += 1
    if end == 0:
        raise _invalid(whole, "each colon-separated field must have at least one digit", text)
    return end


def _embedded(whole: str, text: str, groups: int, ellipsis: int) -> list[int]:
    if ellipsis < 0 and groups != 6:
        problem = "embedded IPv4 address must replace the final 2 fields of the address"
        raise _invalid(whole, problem, text)
    if groups > 6:
        problem = "too many hex fields to fit an embedded IPv4 at the end of the address"
        raise _invalid(whole, problem, text)
    value = _parse_v4(whole, text)
    return [value >> 16, value & 0xFFFF]


def _expanded(whole: str, groups: list[int], ellipsis: int) -> int:
    if len(groups) < 8:
        if ellipsis < 0:
            raise _invalid(whole, "address string too short")
        groups[ellipsis:ellipsis] = [0] * (8 - len(groups))
    elif ellipsis >= 0:
        raise _invalid(whole, "the :: must expand to at least one field of zeros")
    value = 0
    for group in groups:
        value = value << 16 | group
    return value


def parse_prefix(text: str) -> Prefix:
    """`netip.ParsePrefix`."""
    slash = text.rfind("/")
    if slash < 0:
        raise _invalid_prefix(text, "no '/'")
    try:
        address = parse_address(text[:slash])
    except AddressError as error:
        raise _invalid_prefix(text, str(error)) from None
    if address.zone:
        raise _invalid_prefix(text, "IPv6 zones cannot be present in a prefix")
    digits = text[slash + 1 :]
    length = parse_int(digits)
    if length is None or (len(digits) > 1 and digits[0] not in "123456789"):
        raise _invalid_prefix(text, f"bad bits after slash: {quote(digits)}")
    if not 0 <= length <= address.bits:
        raise _invalid_prefix(text, "prefix length out of range")
    return Prefix(address, length)


def _invalid_prefix(text: str, problem: str) -> AddressError:
    return AddressError(f"netip.ParsePrefix({quote(text)}): {problem}")
