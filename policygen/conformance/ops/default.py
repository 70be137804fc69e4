"""`default` cases: an object after its typed round trip and API defaulting."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from policygen.conformance.runner import Agreement
from policygen.kube import catalog, defaults
from policygen.kube.decode_errors import DecodeError


def judge(case: Mapping[str, Any], contexts: Mapping[str, Any]) -> Agreement:  # noqa: ARG001  # the contract's
    """Default the object and compare it with the server's."""
    wanted = case["expect"]["object"]
    try:
        got: Any = defaults.default_object(case["object"], catalog.RECORDED)
    except DecodeError as error:
        got = {"error": error.message}
    same = bool(got == wanted)
    if same:
        return Agreement(True, True, True)
    return Agreement(False, False, False, _text(wanted), _text(got))


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
