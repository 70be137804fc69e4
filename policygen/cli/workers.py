"""Spread work over processes, with results in order and a bounded number of items in flight."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_AHEAD: Final = 4
"""Items a process that may be sent before the first of them has been answered."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def map_ordered(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[Iterator[Result]]:
    """The results of `work` on each item, in the order of the items.

    With one job nothing is started. With more, each process has one item at a time, so that neither side
    waits for the other with full pipes, and a long stream is never held in memory.
    """
    if jobs == 1:
        yield map(work, items)
        return
    import multiprocessing

    started: list[tuple[Connection, BaseProcess]] = []
    context = multiprocessing.get_context()
    try:
        for _ in range(jobs):
            ours, theirs = multiprocessing.Pipe()
            process: BaseProcess = context.Process(target=_serve, args=(work, theirs), daemon=True)
            process.start()
            theirs.close()
            started.append((ours, process))
        yield _collect([connection for connection, _ in started], iter(items))
    finally:
        for connection, process in started:
            _stop(connection)
            process.join(timeout=1)
            if process.is_alive():  # in the middle of an item that nobody waits for
                process.terminate()


def _collect(connections: list[Connection], items: Iterator[Item]) -> Iterator[Result]:
    """Who has finished gets the next item at once; results that come early wait for their turn."""
    from multiprocessing.connection import wait

    busy: dict[Connection, int] = {}
    early: dict[int, Result] = {}
    idle = list(connections)
    sent = shown = 0
    more = True
    while True:
        while more and idle and sent - shown < _AHEAD * len(connections):
            item = next(items, None)
            if item is None:
                more = False
                break
            connection = idle.pop()
            connection.send(item)
            busy[connection] = sent
            sent += 1
        while shown in early:
            yield early.pop(shown)
            shown += 1
        for ready in wait(list(busy)) if busy else ():
            assert ready in busy, "only busy processes are waited for"
            connection = ready
            early[busy.pop(connection)] = connection.recv()
            idle.append(connection)
        if not (busy or early or more):
            return


def _serve(work: Callable[[Item], Result], connection: Connection) -> None:
    """Answer items until there is none."""
    while True:
        try:
            item = connection.recv()
            if item is None:
                return
            connection.send(work(item))
        except (EOFError, OSError, KeyboardInterrupt):
            return


def _stop(connection: Connection) -> None:
    """Say that nothing more comes: others may hold copies of the pipe, so closing it is not enough."""
    with suppress(OSError):
        connection.send(None)
    connection.close()
