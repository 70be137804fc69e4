"""A small bundle with a suite, in a folder of its own."""

from pathlib import Path

import pytest
from verify_cli_files import PODS, SPEC, SUITE


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The current folder, with a spec, pods and a suite in it."""
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(SPEC)
    Path("pods.yaml").write_text(PODS)
    Path("suite.yaml").write_text(SUITE)
    return tmp_path
