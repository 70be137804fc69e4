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
    from policygen.verify.cases import Setting
    from policygen.verify.engine import Options, Prepared, Task, Unit
    from policygen.verify.suite import Case, Suite

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
    if not _is_suite(file_path):
        return None
    found: SuiteFile = SuiteFile.from_parent(parent, path=file_path)
    return found


def _is_suite(path: Path) -> bool:
    if path.name != "suite.yaml" and not path.name.endswith(".suite.yaml"):
        return False
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return False
    return any(line.rstrip() == KIND for line in lines)


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

        properties = () if self.config.getoption("policygen_suites_only") else PROPERTIES
        options = Options(properties=properties)
        own = Diagnostics()
        (alone,) = units([self.path], own) or (None,)
        if own.has_errors or alone is None:
            raise self.CollectError(str(SuiteFailure(own.sorted())))
        suite = alone.suites[0]
        together = _sharing(suite, units(self._siblings(), Diagnostics())) or alone
        for task in tasks_of([together], options):
            ready = _Ready(task, options, suite.path)
            tail = f"-{task.version}" if task.version else ""
            for case in suite.cases:
                yield CaseItem.from_parent(self, name=f"{case.name}{tail}", ready=ready, case=case)
            if together.suites[0].path == suite.path:
                for name in properties:
                    yield PropertyItem.from_parent(self, name=f"{name}{tail}", ready=ready, module=name)

    def _siblings(self) -> list[Path]:
        """The suites of the folder: those for the same policies share their objects, as with `verify`."""
        return sorted(entry for entry in self.path.parent.iterdir() if _is_suite(entry))


def _sharing(suite: Suite, found: Iterable[Unit]) -> Unit | None:
    """The unit of a suite that was loaded alone."""
    for unit in found:
        if any(other.path == suite.path for other in unit.suites):
            return unit
    return None


class _Ready:
    """A task that is prepared when its first test runs, once."""

    def __init__(self, task: Task, options: Options, path: Path) -> None:
        self._task, self._options, self._path = task, options, path

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

    @property
    def setting(self) -> Setting:
        """That of the suite itself."""
        return next(where for where in self.get().settings if where.suite.path == self._path)


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

        result = run_one(self._ready.setting, self._case).result
        if result.findings:
            raise SuiteFailure(finding.diagnostic for finding in result.findings)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """The line of the case, and the heading of its failure (one that ends the node id loses its dots)."""
        return self.path, self._case.span.position[0] - 1, f"case {self.name}"


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
        return self.path, None, f"property {self.name}"
