"""Go's `sort.Slice`, which is not stable: where equal keys end up (Go `sort/zsortfunc.go`, pdqsort).

Only needed for more than twelve elements with equal keys, or for keys that cannot be compared; otherwise a
stable sort gives the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_SHORT: Final = 12
_NINTHER: Final = 50
_MAX_SWAPS: Final = 12
_MAX_STEPS: Final = 5

Less = Callable[[int, int], bool]


def go_order(count: int, less: Less) -> list[int]:
    """The order in which `sort.Slice` leaves 0 … `count` - 1; `less` takes two of these numbers."""
    sorter = _Sorter(count, less)
    sorter.sort(0, count, count.bit_length())
    return sorter.items


class _Sorter:
    def __init__(self, count: int, less: Less) -> None:
        self.items = list(range(count))
        self._compare = less
        self._swaps = 0

    def _less(self, left: int, right: int) -> bool:
        return self._compare(self.items[left], self.items[right])

    def _swap(self, left: int, right: int) -> None:
        items = self.items
        items[left], items[right] = items[right], items[left]

    def sort(self, start: int, end: int, limit: int) -> None:
        """`pdqsort_func`."""
        balanced = partitioned = True
        while end - start > _SHORT:
            length = end - start
            if limit == 0:
                self._heap_sort(start, end)
                return
            if not balanced:
                self._break_patterns(start, end)
                limit -= 1
            pivot, hint = self._choose_pivot(start, end)
            if hint == "decreasing":
                self.items[start:end] = self.items[start:end][::-1]
                pivot = (end - 1) - (pivot - start)
                hint = "increasing"
            if balanced and partitioned and hint == "increasing" and self._nearly_sorted(start, end):
                return
            if start > 0 and not self._less(start - 1, pivot):
                start = self._partition_equal(start, end, pivot)
                continue
            middle, partitioned = self._partition(start, end, pivot)
            left, right = middle - start, end - middle
            if left < right:
                balanced = left >= length // 8
                self.sort(start, middle, limit)
                start = middle + 1
            else:
                balanced = right >= length // 8
                self.sort(middle + 1, end, limit)
                end = middle
        self._insertion_sort(start, end)

    def _insertion_sort(self, start: int, end: int) -> None:
        for at in range(start + 1, end):
            while at > start and self._less(at, at - 1):
                self._swap(at, at - 1)
                at -= 1  # noqa: PLW2901

    def _heap_sort(self, start: int, end: int) -> None:
        count = end - start
        for root in range((count - 1) // 2, -1, -1):
            self._sift_down(root, count, start)
        for last in range(count - 1, -1, -1):
            self._swap(start, start + last)
            self._sift_down(0, last, start)

    def _sift_down(self, root: int, end: int, first: int) -> None:
        while (child := 2 * root + 1) < end:
            if child + 1 < end and self._less(first + child, first + child + 1):
                child += 1
            if not self._less(first + root, first + child):
                return
            self._swap(first + root, first + child)
            root = child

    def _partition(self, start: int, end: int, pivot: int) -> tuple[int, bool]:
        self._swap(start, pivot)
        low, high = self._narrow(start, start + 1, end - 1)
        untouched = low > high
        while low <= high:
            self._swap(low, high)
            low, high = self._narrow(start, low + 1, high - 1)
        self._swap(high, start)
        return high, untouched

    def _narrow(self, pivot: int, low: int, high: int) -> tuple[int, int]:
        while low <= high and self._less(low, pivot):
            low += 1
        while low <= high and not self._less(high, pivot):
            high -= 1
        return low, high

    def _partition_equal(self, start: int, end: int, pivot: int) -> int:
        self._swap(start, pivot)
        low, high = start + 1, end - 1
        while True:
            while low <= high and not self._less(start, low):
                low += 1
            while low <= high and self._less(start, high):
                high -= 1
            if low > high:
                return low
            self._swap(low, high)
            low, high = low + 1, high - 1

    def _nearly_sorted(self, start: int, end: int) -> bool:
        """`partialInsertionSort_func`: sort what needs few steps; whether that was enough."""
        at = start + 1
        for _ in range(_MAX_STEPS):
            while at < end and not self._less(at, at - 1):
                at += 1
            if at == end:
                return True
            if end - start < _NINTHER:
                return False
            self._swap(at, at - 1)
            if at - start >= 2:
                self._shift(range(at - 1, 0, -1))
            if end - at >= 2:
                self._shift(range(at + 1, end))
        return False

    def _shift(self, places: range) -> None:
        for place in places:
            if not self._less(place, place - 1):
                return
            self._swap(place, place - 1)

    def _break_patterns(self, start: int, end: int) -> None:
        length = end - start
        random = length
        mask = (1 << length.bit_length()) - 1
        index = start + (length // 4) * 2 - 1
        for step in range(3):
            random ^= random << 13 & 0xFFFFFFFFFFFFFFFF
            random ^= random >> 7
            random ^= random << 17 & 0xFFFFFFFFFFFFFFFF
            other = random & mask
            if other >= length:
                other -= length
            self._swap(index - 1 + step, start + other)

    def _choose_pivot(self, start: int, end: int) -> tuple[int, str]:
        length = end - start
        self._swaps = 0
        first, second, third = (start + length // 4 * part for part in (1, 2, 3))
        if length >= _NINTHER:
            first, second, third = (
                self._median(place - 1, place, place + 1) for place in (first, second, third)
            )
        second = self._median(first, second, third)
        if self._swaps == 0:
            return second, "increasing"
        return second, "decreasing" if self._swaps == _MAX_SWAPS else "unknown"

    def _median(self, first: int, second: int, third: int) -> int:
        first, second = self._in_order(first, second)
        second, third = self._in_order(second, third)
        first, second = self._in_order(first, second)
        return second

    def _in_order(self, left: int, right: int) -> tuple[int, int]:
        if self._less(right, left):
            self._swaps += 1
            return right, left
        return left, right
