"""policygen: compile GPU placement and quota policy for Kubernetes, and prove offline what it does.

From Python: `compile_spec` and `load` for specs, `admit`, `explain` and `verify` for any policies. They are
loaded when they are first used, so importing the package costs next to nothing.
"""

TYPE_CHECKING = False  # as type checkers know it, without loading `typing`
if TYPE_CHECKING:
    from policygen.admission.outcome import Outcome as Outcome
    from policygen.admission.request import UserInfo as UserInfo
    from policygen.compiler import compile_text as compile_text
    from policygen.compiler.bundle import Bundle as Bundle
    from policygen.diagnostics import Diagnostic as Diagnostic
    from policygen.diagnostics import PolicygenError as PolicygenError
    from policygen.verify.api import admit as admit
    from policygen.verify.api import compile_spec as compile_spec
    from policygen.verify.api import explain as explain
    from policygen.verify.api import load as load
    from policygen.verify.api import verify as verify
    from policygen.verify.report import Report as Report

__version__ = "0.1.0"

_MODULES = {
    "Bundle": "policygen.compiler.bundle",
    "Diagnostic": "policygen.diagnostics",
    "Outcome": "policygen.admission.outcome",
    "PolicygenError": "policygen.diagnostics",
    "Report": "policygen.verify.report",
    "UserInfo": "policygen.admission.request",
    "admit": "policygen.verify.api",
    "compile_spec": "policygen.verify.api",
    "compile_text": "policygen.compiler",
    "explain": "policygen.verify.api",
    "load": "policygen.verify.api",
}
"""Where each name lives. `verify` is the package of that name, which can be called."""

__all__ = (  # noqa: PLE0604 - the names are texts
    "__version__",
    "verify",
    *_MODULES,
)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "verify":
        return import_module("policygen.verify")
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")


def __dir__() -> list[str]:
    return sorted(__all__)
