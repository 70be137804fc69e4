"""Commands as users run them: files in, text and exit code out. The output is golden."""

from pathlib import Path

import pytest
import yaml

from policygen.cli.main import run

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
TOPICS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((FOLDER / "sessions").glob("*.yaml"))
}
SESSIONS = [(topic, case) for topic, data in TOPICS.items() for case in data["cases"]]


def write(files):
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("topic", "case"), SESSIONS, ids=[f"{topic}: {case['name']}" for topic, case in SESSIONS]
)
def test_session(topic, case, snapshot, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(ROOT / "policies")
    Path("fixtures").symlink_to(ROOT / "fixtures")
    write({**TOPICS[topic].get("files", {}), **case.get("files", {})})

    code = run(case["run"].split())

    shown = capsys.readouterr()
    assert case.get("code", 0) == code, shown.err + shown.out
    assert (shown.out + shown.err).replace(str(tmp_path), "~") == snapshot


def test_names_are_unique():
    names = [(topic, case["name"]) for topic, case in SESSIONS]

    assert len(set(names)) == len(names)
