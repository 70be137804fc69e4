"""Nodes, their spans, and the limits of what is read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policygen.compiler.recognise import MAX_BYTES
from policygen.compiler.yaml import Mapping, Scalar, decode, read_documents
from policygen.diagnostics import Diagnostics, PolicygenError, Source


def read(text):
    found = Diagnostics()
    documents = read_documents(Source("spec.yaml", text), found)
    found.raise_if_errors()
    return documents


def code_of(text):
    with pytest.raises(PolicygenError) as raised:
        read(text)
    return raised.value.diagnostics[0].code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: plain text\n", "plain text"),
        ("a: plain\n   text\n", "plain\ntext"),
        ("a: 'it''s'\n", "it's"),
        ('a: "a\\tb\\u00e9\\x41 c"\n', "a\\b\\\\ c"),
        ('a: "one\n   two"\n', "one\ntwo"),
        ("a: |\n  one\n    two\n\n  three\n", "one\n  two\n\nthree\n"),
        ("a: >-\n  one\n  two\n\n  three\n", "one\ntwo\nthree"),
        ("a: |2\n    indented\n", "  indented\n"),
        ("é: wide 字\n", "wide 字"),
    ],
)
def test_every_code_point_knows_its_place(text, expected):
    (document,) = read(text)
    (entry,) = document.entries
    value = entry.value

    assert len(value.offsets) == len(value.text) + 1
    assert "".join(text[offset] for offset in value.offsets[:-1]) == expected


@settings(max_examples=200)
@given(st.text(alphabet="ab '\"\\\n\t:é", min_size=1, max_size=30), st.sampled_from(["|", ">", '"']))
def test_places_of_visible_characters_are_exact(content, style):
    if style == '"':
        quoted = content.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        text = f'a: "{quoted}"\n'
    else:
        text = f"a: {style}2\n" + "".join(f"  {line}\n" for line in content.split("\n"))
    try:
        (document,) = read(text)
    except PolicygenError:
        return
    value = document.entries[0].value
    for char, offset in zip(value.text, value.offsets, strict=False):
        if char in "ab:é'":
            assert text[offset] == char


def test_spans_of_keys_and_values():
    text = "a: &anchor {b: [1, 'two']}\nc: *anchor\n"
    (document,) = read(text)
    inner = document.by_key["a"].value
    assert isinstance(inner, Mapping)
    items = inner.by_key["b"].value.items

    assert [text[item.span.start : item.span.end] for item in items] == ["1", "'two'"]
    assert text[inner.span.start : inner.span.end] == "{b: [1, 'two']}"
    assert document.by_key["c"].value == inner


def test_merge_keys_add_what_is_not_there():
    (document,) = read("base: &base {a: 1, b: 2}\nuse: {<<: *base, b: 3}\n")
    use = document.by_key["use"].value

    assert {entry.key.text: entry.value.value for entry in use.entries} == {"b": 3, "a": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", "y"),
        ("no", "no"),
        ("~", None),
        ("true", True),
        ("12", 12),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("1.36.2", "1.36.2"),
        ("2026-01-01", "2026-01-01"),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-7", -7),
        ("+7", 7),
        ("16Gi", "16Gi"),
    ],
)
def test_scalars_follow_the_core_schema(text, value):
    (document,) = read(f"a: {text}\n")
    scalar = document.entries[0].value
    assert isinstance(scalar, Scalar)

    assert (scalar.value, type(scalar.value)) == (value, type(value))


def test_aliases_cannot_explode():
    levels = "".join(
        f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]\n" for level in range(1, 10)
    )

    assert code_of("l0: &l0 [x]\n" + levels) == "document-too-large"


def test_depth_is_bounded():
    assert code_of("a: " + "[" * 120 + "]" * 120) == "document-too-deep"
    assert code_of("a: " + "[" * 5_000) == "document-too-deep"


def test_size_is_bounded():
    with pytest.raises(PolicygenError) as raised:
        decode("big.yaml", b"#" * (MAX_BYTES + 1))
    assert raised.value.diagnostics[0].code == "file-too-large"


def test_lists_are_bounded():
    assert code_of("a: [" + "x," * 10_001 + "]") == "document-too-large"


def test_bytes_that_are_not_utf8():
    with pytest.raises(PolicygenError) as raised:
        decode("latin.yaml", "a: 1\nb: é".encode("latin-1"))
    diagnostic = raised.value.diagnostics[0]

    assert (diagnostic.code, diagnostic.primary.span.position) == ("not-utf8", (2, 4))


def test_a_byte_order_mark_and_windows_line_ends():
    source = decode("win.yaml", b"\xef\xbb\xbfa: 1\r\nb: two\r\n")
    (document,) = read_documents(source, Diagnostics())

    assert document.by_key["b"].value.span.position == (2, 4)
