"""Which paths an expression reads, compares and writes."""

from pathlib import Path

import pytest
import yaml

from policygen.cel.macros import OPTIONAL, STANDARD, TWO_VARIABLES, table
from policygen.cel.parser import parse
from policygen.verify.analysis import analyse, meets

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "analysis.yaml").read_text())
MACROS = table((*STANDARD, *OPTIONAL, *TWO_VARIABLES))


def tree(text):
    return parse(text, MACROS).expr


def dotted(paths):
    return sorted(".".join(path) for path in paths)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["expr"][:60])
def test_effects(case):
    variables = {name: tree(text) for name, text in case.get("variables", {}).items()}

    effects = analyse(tree(case["expr"]), variables)

    constants = {".".join(path): sorted(map(list, values)) for path, values in effects.constants.items()}
    assert sorted(case.get("reads", [])) == dotted(effects.reads)
    assert sorted(case.get("tested", [])) == dotted(effects.tested)
    assert sorted(case.get("writes", [])) == dotted(effects.writes)
    assert case.get("constants", {}) == constants


def test_a_write_meets_reads_above_and_below_it():
    write = ("spec", "containers", "*", "env")

    assert meets([write], [("spec", "containers")])
    assert meets([write], [("spec", "containers", "*", "env", "*", "name")])
    assert not meets([write], [("spec", "containers", "*", "image")])
