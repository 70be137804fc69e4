"""Verify: find what is to be verified, run its suites, then its properties, and report everything.

Suites that verify the same policies share one world, so that what one suite reaches counts for all. The work
is cut into tasks, one for each set of policies and Kubernetes version; they share nothing, so they may run
in other processes, and their results are put together in the order of the tasks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Final, TypeAlias

from policygen.admission.cluster import DEFAULT_PLUGINS
from policygen.diagnostics import Diagnostic, Diagnostics, PolicygenError
from policygen.verify import cases, golden, subject
from policygen.verify import suite as suites
from policygen.verify.golden import Wanted
from policygen.verify.report import CaseResult, PropertyResult, Report, Update
from policygen.verify.sources import Located, is_suite
from policygen.verify.subject import Subject
from policygen.verify.suite import Suite
from policygen.verify.world import Trial, World, create

PROPERTIES: Final = (
    "acceptance",
    "fields",
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

Progress: TypeAlias = Callable[[str], None]


def _silent(_: str) -> None:
    """Progress that nobody watches."""


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
    subject: Subject | None = field(default=None, compare=False)
    """The policies themselves, when they were given as such."""


@dataclass(frozen=True, slots=True)
class Task:
    """A unit on one Kubernetes version; None is that of its specs."""

    unit: Unit
    version: str | None


@dataclass(slots=True)
class Part:
    """What a task found."""

    cases: list[CaseResult] = field(default_factory=list)
    properties: list[PropertyResult] = field(default_factory=list)
    found: Diagnostics = field(default_factory=Diagnostics)
    wanted: list[Wanted] = field(default_factory=list)
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Worker:
    """Does tasks by their number; what it holds can be sent to other processes."""

    tasks: tuple[Task, ...]
    options: Options
    progress: Progress = _silent

    def __call__(self, number: int) -> Part:
        """The result of a task; an interrupt ends it with what was found so far."""
        part = Part()
        try:
            _do(self.tasks[number], self.options, part, self.progress)
        except PolicygenError as error:
            part.found.extend(error.diagnostics)
        except KeyboardInterrupt:
            part.interrupted = True
        return part


Spread: TypeAlias = Callable[[Worker, Iterable[int]], AbstractContextManager[Iterator[Part]]]
"""Runs a worker on numbers, somewhere, and gives the results in the order of the numbers."""


@contextmanager
def _here(worker: Worker, numbers: Iterable[int]) -> Iterator[Iterator[Part]]:
    yield map(worker, numbers)


def verify(
    paths: Sequence[Path],
    options: Options | None = None,
    progress: Progress = _silent,
    spread: Spread = _here,
) -> Report:
    """Verify what is in some files and folders. An interrupt ends with a report of what was found so far."""
    return verify_units(lambda found: units(paths, found), options or Options(), progress, spread)


def verify_units(
    find: Callable[[Diagnostics], Iterable[Unit]],
    options: Options,
    progress: Progress = _silent,
    spread: Spread = _here,
) -> Report:
    """The same for units that somebody else finds."""
    found = Diagnostics()
    parts: list[Part] = []
    interrupted = False
    try:
        tasks = tuple(tasks_of(find(found), options))
        with spread(Worker(tasks, options, progress), range(len(tasks))) as results:
            for part in results:
                parts.append(part)
                if part.interrupted:
                    interrupted = True
                    break
    except KeyboardInterrupt:
        interrupted = True
    except PolicygenError as error:
        found.extend(error.diagnostics)
    for part in parts:
        found.extend(part.found)
    updates: list[Update] = []
    if options.update and not interrupted and not found.has_errors:
        for item in golden.write_all(wanted for part in parts for wanted in part.wanted):
            if isinstance(item, Diagnostic):
                found.add(item)
            else:
                updates.append(item)
    return Report(
        tuple(result for part in parts for result in part.cases),
        tuple(result for part in parts for result in part.properties),
        found.sorted(),
        interrupted,
        tuple(updates),
    )


def tasks_of(found: Iterable[Unit], options: Options) -> Iterator[Task]:
    """One for each unit and version."""
    for unit in found:
        versions = options.versions or tuple(
            dict.fromkeys(v for suite in unit.suites for v in suite.versions)
        )
        for version in versions or (None,):
            yield Task(unit, version)


def units(paths: Sequence[Path], found: Diagnostics) -> list[Unit]:
    """What there is to verify: suite files, and folders with suites, specs or manifests."""
    grouped: dict[tuple[tuple[Path, ...], tuple[int, ...]], Unit] = {}
    seen: set[Path] = set()
    for path in paths:
        for unit in _units_of(path, found):
            fresh = tuple(suite for suite in unit.suites if suite.path.resolve() not in seen)
            if unit.suites and not fresh:
                continue  # the same suite by another path
            seen.update(suite.path.resolve() for suite in fresh)
            key = (
                tuple(policy.resolve() for policy in unit.policies),
                tuple(id(item) for item in unit.inline),
            )
            known = grouped.get(key)
            grouped[key] = unit if known is None else replace(known, suites=known.suites + fresh)
    return list(grouped.values())


def _units_of(path: Path, found: Diagnostics) -> Iterator[Unit]:
    if is_suite(path):
        yield from _suite_unit(path, found)
        return
    if not path.is_dir():
        if not path.exists():
            found.error("manifest-not-found", f"cannot read `{path}`: no such file or directory")
            return
        yield Unit((path,), (), ())
        return
    own = [entry for entry in sorted(path.iterdir()) if entry.is_file() and is_suite(entry)]
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
    own = Diagnostics()
    loaded = suites.load(path, own)
    found.extend(own)
    if loaded is not None:
        policies = tuple(source.path for source in loaded.policies if source.path is not None)
        inline = tuple(source.object for source in loaded.policies if source.object is not None)
        if policies or inline:
            yield Unit(policies, inline, (loaded,))


def _do(task: Task, options: Options, part: Part, progress: Progress) -> None:
    progress(", ".join(str(path) for path in task.unit.policies[:3]) or "policies")
    prepared = prepare(task, options, part.found)
    if prepared is None:
        return
    for where in prepared.settings:
        for ran in cases.run(where, update=options.update):
            progress(f"{where.suite.name} on {prepared.subject.version}: {ran.result.case}")
            part.cases.append(ran.result)
            if ran.wanted is not None:
                part.wanted.append(ran.wanted)
    if options.properties and prepared.world.trials:
        for result in run_properties(prepared.world, options.properties, progress):
            part.properties.append(result)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task that is ready to run."""

    subject: Subject
    settings: tuple[cases.Setting, ...]
    """One for each suite."""
    world: World


def prepare(task: Task, options: Options, found: Diagnostics) -> Prepared | None:
    """Load the policies of a task; None when they have errors, which are then in `found`."""
    unit = task.unit
    loaded = unit.subject
    if loaded is None:
        loaded = subject.load(unit.policies, found, inline=unit.inline, version=task.version)
    if loaded is None:
        return None
    trials: list[Trial] = []
    for suite in unit.suites:
        if not loaded.manifests:
            found.error(
                "suite-no-policies", "the suite's policies hold no object", suite.document.span(("policies",))
            )
        cases.check_names(suite, loaded, found)
        trials += _trials(suite)
    trials += [create(item.value, item.title, item.span) for item in options.fixtures]
    if options.properties and not trials:
        found.error(
            "verify-no-fixtures",
            "there is no object to try the policies on, so nothing would be proven",
            loaded.manifests[0].span if loaded.manifests else None,
            help=["name fixtures with `-f`, or write a suite: `policygen init --from SPEC` makes one"],
        )
    settings = tuple(cases.setting(suite, loaded) for suite in unit.suites)
    return Prepared(loaded, settings, _world(loaded, unit.suites, trials))


def run_properties(
    world: World, names: Iterable[str], progress: Progress = _silent
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
