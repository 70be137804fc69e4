"""Operations of a request as they are written on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from policygen.admission.request import Operation

OPERATIONS: Final[dict[str, Operation]] = {"create": "CREATE", "update": "UPDATE", "delete": "DELETE"}
