"""Suites as tests: `pytest` collects `suite.yaml` and `*.suite.yaml` of kind PolicySuite.

Each case is a test, and each property of the policies is one, for every Kubernetes version of the suite.
Nothing of policygen is loaded before a suite is found.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from policygen.diagnostics import Diagnostic, Diagnostics
    from policygen.verify.engine import Options, Prepared, Task
    from policygen.verify.suite import Case

KIND = b"kind: PolicySuite"


def pytest_addoption(parser: pytest.Parser) -> None:
    """One option: cases without properties."""
    group = parser.getgroup("policygen")
    group.addoption(
        "--policygen-suites-only",
        action="store_true",
        help="run the cases of policygen suites, without the properties of their policies",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteFile | None:
    """A file that is named as a suite and says that it is one."""
    if file_path.name != "suite.yaml" and not file_path.name.endswith(".suite.yaml"):
        return None
    try:
        lines = file_path.read_bytes().splitlines()
    except OSError:
        return None
    if not any(line.rstrip() == KIND for line in lines):
        return None
    found: SuiteFile = SuiteFile.from_parent(parent, path=file_path)
    return found


class SuiteFailure(Exception):  # noqa: N818 - what a test reports
    """What does not hold, as policygen says it."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        from policygen.render import full

        super().__init__(full.render(diagnostics))


class SuiteFile(pytest.File):
    """One suite file."""

    def collect(self) -> Iterator[pytest.Item]:
        """The cases, then the properties, for each version."""
        from policygen.diagnostics import Diagnostics
        from policygen.verify.engine import PROPERTIES, Options, tasks_of, units

        found = Diagnostics()
        properties = () if self.config.getoption("policygen_suites_only") else PROPERTIES
        options = Options(properties=properties)
        tasks = list(tasks_of(units([self.path], found), options))
        if found.has_errors:
            raise self.CollectError(str(SuiteFailure(found.sorted())))
        for task in tasks:
            ready = _Ready(task, options)
            tail = f"-{task.version}" if task.version else ""
            for suite in task.unit.suites:
                for case in suite.cases:
                    yield CaseItem.from_parent(self, name=f"{case.name}{tail}", ready=ready, case=case)
            for name in properties:
                yield PropertyItem.from_parent(self, name=f"{name}{tail}", ready=ready, module=name)


class _Ready:
    """A task that is prepared when its first test runs, once."""

    def __init__(self, task: Task, options: Options) -> None:
        self._task, self._options = task, options

    @cached_property
    def _found(self) -> tuple[Prepared | None, Diagnostics]:
        from policygen.diagnostics import Diagnostics, PolicygenError
        from policygen.verify.engine import prepare

        found = Diagnostics()
        try:
            return prepare(self._task, self._options, found), found
        except PolicygenError as error:
            found.extend(error.diagnostics)
            return None, found

    def get(self) -> Prepared:
        """What is ready to run; the errors of policies and suite fail whoever asks."""
        prepared, found = self._found
        if prepared is None or found.has_errors:
            raise SuiteFailure(found.sorted())
        return prepared


class _Item(pytest.Item):
    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Our own words for our own failures."""
        if isinstance(excinfo.value, SuiteFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class CaseItem(_Item):
    """One case on one version."""

    def __init__(self, *, ready: _Ready, case: Case, **rest: Any) -> None:
        super().__init__(**rest)
        self._ready, self._case = ready, case

    def runtest(self) -> None:
        """Send the request and compare."""
        from policygen.verify.cases import run_one

        (where,) = self._ready.get().settings
        result = run_one(where, self._case).result
        if result.findings:
            raise SuiteFailure(finding.diagnostic for finding in result.findings)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """The line of the case."""
        return self.path, self._case.span.position[0] - 1, ""


class PropertyItem(_Item):
    """One property on one version."""

    def __init__(self, *, ready: _Ready, module: str, **rest: Any) -> None:
        super().__init__(**rest)
        self._ready, self._module = ready, module

    def runtest(self) -> None:
        """Try it on every object of the suite."""
        from policygen.verify.engine import run_properties

        (result,) = run_properties(self._ready.get().world, (self._module,))
        if result.status == "failed":
            raise SuiteFailure(finding.diagnostic for finding in result.findings)
        if result.status == "skipped":
            pytest.skip(result.skipped)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """The suite as a whole."""
        return self.path, None, ""
