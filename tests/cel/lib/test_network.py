"""Addresses and networks against Python's own, and URLs against themselves."""

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from policygen.cel.gourl import UrlError, parse, parse_request_uri
from policygen.cel.netip import Address, AddressError, Prefix, parse_address, parse_prefix

groups = st.lists(st.sampled_from([0, 0, 0, 1, 0xABCD, 0xFFFF]), min_size=8, max_size=8)


@given(groups)
def test_v6_text_is_canonical(parts: list[int]) -> None:
    """Our form is RFC 5952's, and reads back."""
    value = 0
    for part in parts:
        value = value << 16 | part
    address = Address(128, value)
    assert parse_address(str(address)) == address
    if not address.is_mapped:
        assert str(address) == str(ipaddress.IPv6Address(value))


@given(st.text(alphabet="0123456789abcf:.%/", max_size=20))
def test_texts_that_python_takes_we_take(text: str) -> None:
    """The same texts are addresses, but for zones, where Python asks more."""
    try:
        mine: Address | None = parse_address(text)
    except AddressError:
        mine = None
    try:
        theirs = int(ipaddress.ip_address(text))
    except ValueError:
        assert mine is None or mine.zone
        return
    assert mine is not None
    assert mine.value == theirs


@given(st.integers(0, 2**32 - 1), st.integers(0, 32), st.integers(0, 2**32 - 1), st.integers(0, 32))
def test_networks_hold_what_pythons_hold(one: int, one_bits: int, two: int, two_bits: int) -> None:
    """Masks and containment agree."""
    first = Prefix(Address(32, one), one_bits)
    second = Prefix(Address(32, two), two_bits)
    network = ipaddress.ip_network((one, one_bits), strict=False)
    other = ipaddress.ip_network((two, two_bits), strict=False)
    assert isinstance(network, ipaddress.IPv4Network)
    assert isinstance(other, ipaddress.IPv4Network)
    assert str(first.masked) == str(network)
    assert first.contains(second.address) == (ipaddress.IPv4Address(two) in network)
    assert first.covers(second) == other.subnet_of(network)
    assert parse_prefix(str(first)) == first


@given(st.text(alphabet="htp:/?#[]@!%&=;.ab01é \x01", max_size=16))
def test_any_text_is_a_url_or_refused(text: str) -> None:
    """No text does anything else, and the parts can be asked for."""
    try:
        parse_request_uri(text)
        url = parse(text)
    except UrlError:
        return
    assert isinstance(str(url), str)
    assert isinstance(url.query, dict)
    assert url.hostname.isprintable() or "%" in text
    assert url.port == "" or url.port.isdecimal()
    assert url.escaped_path.isascii() or not text.isascii()
