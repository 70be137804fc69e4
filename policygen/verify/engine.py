"""Verify: find what is to be verified, run its suites, then its properties, and report everything.

Suites that verify the same policies share one world, so that what one suite reaches counts for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Final

from policygen.admission.cluster import DEFAULT_PLUGINS
from policygen.diagnostics import Diagnostics, PolicygenError
from policygen.verify import cases, subject
from policygen.verify import suite as suites
from policygen.verify.report import CaseResult, PropertyResult, Report
from policygen.verify.sources import Located
from policygen.verify.subject import Subject
from policygen.verify.suite import Suite
from policygen.verify.world import Trial, World, create

PROPERTIES: Final = (
    "acceptance",
    "coverage",
    "validity",
    "idempotence",
    "order",
    "null_safety",
    "writers",
    "selectors",
    "cost",
    "satisfiable",
    "drift",
)
"""Modules of `policygen.verify.properties`, in the order in which they run and are reported."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How to verify."""

    versions: tuple[str, ...] = ()
    """Kubernetes versions; empty = those of the suites, else the spec's own."""
    fixtures: tuple[Located, ...] = ()
    """Objects besides those of the suites."""
    properties: tuple[str, ...] = PROPERTIES
    update: bool = False
    """Write goldens instead of comparing them."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Policies and the suites that verify them."""

    policies: tuple[Path, ...]
    inline: tuple[Located, ...]
    suites: tuple[Suite, ...]


@dataclass(slots=True)
class _Results:
    found: Diagnostics
    cases: list[CaseResult]
    properties: list[PropertyResult]

    def report(self, *, interrupted: bool = False) -> Report:
        return Report(tuple(self.cases), tuple(self.properties), self.found.sorted(), interrupted=interrupted)


def verify(
    paths: Sequence[Path], options: Options | None = None, progress: Progress = lambda _: None
) -> Report:
    """Verify what is in some files and folders. An interrupt ends with a report of what was found so far."""
    options = options or Options()
    results = _Results(Diagnostics(), [], [])
    try:
        for unit in units(paths, results.found):
            _verify_unit(unit, options, results, progress)
    except PolicygenError as error:
        results.found.extend(error.diagnostics)
    except KeyboardInterrupt:
        return results.report(interrupted=True)
    return results.report()


def units(paths: Sequence[Path], found: Diagnostics) -> list[Unit]:
    """What there is to verify: suite files, and folders with suites, specs or manifests."""
    grouped: dict[tuple[tuple[Path, ...], tuple[int, ...]], Unit] = {}
    for path in paths:
        for unit in _units_of(path, found):
            key = (
                tuple(policy.resolve() for policy in unit.policies),
                tuple(id(item) for item in unit.inline),
            )
            known = grouped.get(key)
            grouped[key] = unit if known is None else replace(known, suites=known.suites + unit.suites)
    return list(grouped.values())


def _units_of(path: Path, found: Diagnostics) -> Iterator[Unit]:
    if subject.is_suite(path):
        yield from _suite_unit(path, found)
        return
    if not path.is_dir():
        if not path.exists():
            found.error("manifest-not-found", f"cannot read `{path}`: no such file or directory")
            return
        yield Unit((path,), (), ())
        return
    own = [entry for entry in sorted(path.iterdir()) if entry.is_file() and subject.is_suite(entry)]
    if own:
        for entry in own:
            yield from _suite_unit(entry, found)
    elif subject.holds_policies(path):
        yield Unit((path,), (), ())
    else:
        below = [entry for entry in sorted(path.iterdir()) if entry.is_dir() and subject.is_worth(entry)]
        if not below:
            found.error("verify-nothing", f"`{path}` holds no suite, no spec and no manifests")
        for entry in below:
            yield from _units_of(entry, found)


def _suite_unit(path: Path, found: Diagnostics) -> Iterator[Unit]:
    loaded = suites.load(path, found)
    if loaded is not None:
        policies = tuple(source.path for source in loaded.policies if source.path is not None)
        inline = tuple(source.object for source in loaded.policies if source.object is not None)
        yield Unit(policies, inline, (loaded,))


def _verify_unit(unit: Unit, options: Options, results: _Results, progress: Progress) -> None:
    versions = options.versions or tuple(dict.fromkeys(v for suite in unit.suites for v in suite.versions))
    for version in versions or (None,):
        loaded = subject.load(unit.policies, results.found, inline=unit.inline, version=version)
        if loaded is None:
            return
        _verify_subject(loaded, unit.suites, options, results, progress)


def _verify_subject(
    loaded: Subject, of: Sequence[Suite], options: Options, results: _Results, progress: Progress
) -> None:
    trials: list[Trial] = []
    for suite in of:
        cases.check_names(suite, loaded, results.found)
        where = cases.setting(suite, loaded)
        for result in cases.run(where, update=options.update):
            progress(f"{suite.name}: {result.case}")
            results.cases.append(result)
        trials += _trials(suite)
    trials += [create(item.value, item.title, item.span) for item in options.fixtures]
    if not options.properties:
        return
    if not trials:
        results.found.error(
            "verify-no-fixtures",
            "there is no object to try the policies on, so nothing would be proven",
            loaded.manifests[0].span if loaded.manifests else None,
            help=["name fixtures with `-f`, or write a suite: `policygen init` makes one from a spec"],
        )
        return
    results.properties += run_properties(_world(loaded, of, trials), options.properties, progress)


def run_properties(
    world: World, names: Iterable[str], progress: Progress = lambda _: None
) -> Iterator[PropertyResult]:
    """The result of each property, by the names of their modules."""
    for name in names:
        module = import_module(f"policygen.verify.properties.{name}")
        progress(f"{module.NAME} on {world.subject.version}")
        started = time.perf_counter()
        result: PropertyResult = module.check(world)
        yield replace(result, seconds=time.perf_counter() - started)


def _trials(suite: Suite) -> Iterator[Trial]:
    """The suite's cases, and its fixtures as they are."""
    for case in suite.cases:
        yield Trial(f"case `{case.name}`", cases.request(case), case.span)
    sent = {repr(case.object) for case in suite.cases}
    for item in suite.fixtures.all:
        if repr(item.value) not in sent:
            yield create(suite.placed(item.value), item.title, item.span)


def _world(loaded: Subject, of: Sequence[Suite], trials: Sequence[Trial]) -> World:
    stored = [item.value for suite in of for item in (*suite.cluster, *suite.inventory)]
    stored += [item.value for suite in of for case in suite.cases for item in case.cluster]
    plugins = frozenset(plugin for suite in of for plugin in suite.plugins)
    tables = [suite.authorizer for suite in of if suite.authorizer is not None]
    return World(
        subject=loaded,
        stored=stored,
        trials=tuple(trials),
        inventory=[item.value for suite in of for item in suite.inventory],
        authorizer={key: value for table in tables for key, value in table.items()} if tables else None,
        plugins=DEFAULT_PLUGINS | plugins,
        cost_share=min((suite.cost_share for suite in of), default=50),
    )
