"""Environments: what an expression may refer to, for one use on one Kubernetes version.

`admission_env` is what the API server declares for mutating and validating policies
(`plugin/cel/compile.go`), `device_env` what it declares for DRA selectors
(`dynamic-resource-allocation/cel/compile.go`). Both type data as the server does: `object` is `dyn`. The lint
that knows `object` by its kind is in `schema_env`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from policygen.cel import lib, macros, types
from policygen.cel.decls import FunctionDecl
from policygen.cel.estimate import SizeDecl
from policygen.cel.parser import MacroTable
from policygen.cel.types import Type
from policygen.cel.values import TypeValue
from policygen.cel.wellknown import ENUM_VALUES, WELL_KNOWN

Fields = Mapping[str, Type]

_STRINGS: Final = types.list_of(types.STRING)
_STRING_MAP: Final = types.map_of(types.STRING, types.STRING)
_BASIC_TYPES: Final = {
    "bool": types.BOOL,
    "bytes": types.BYTES,
    "double": types.DOUBLE,
    "google.protobuf.Duration": types.DURATION,
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "int": types.INT,
    "list": types.LIST_DYN,
    "map": types.MAP_DYN,
    "null_type": types.NULL,
    "optional_type": types.optional_of(types.param("V")),
    "string": types.STRING,
    "type": types.TYPE,
    "uint": types.UINT,
}
_JSON_PATCH: Final = {
    "op": types.STRING,
    "path": types.STRING,
    "from": types.STRING,
    "value": types.DYN,
}
_NO_LIMIT: Final = 2**31
VARIABLES_TYPE: Final = types.struct("kubernetes.variables")


@dataclass(frozen=True, slots=True, eq=False)
class Env:
    """Declarations and switches. Two environments are the same only when they are one object."""

    functions: Mapping[str, FunctionDecl]
    variables: Mapping[str, Type]
    type_names: Mapping[str, Type]
    structs: Mapping[str, Fields]
    macros: MacroTable
    validators: frozenset[str]
    optional_syntax: bool = True
    dynamic_objects: bool = False
    """Whether `Object`, `Object.spec`, … are types with any field (`cel/mutation/dynamic`)."""
    sizes: Mapping[str, SizeDecl] = field(default_factory=dict)
    """How large variables may be, for static estimates."""

    def function(self, name: str) -> FunctionDecl | None:
        """The function of a name."""
        return self.functions.get(name)

    def is_variable(self, name: str) -> bool:
        """Whether a name is a declared variable."""
        return name in self.variables

    def ident_type(self, name: str) -> Type | None:
        """The type of a variable, or the type of a type's name."""
        found = self.variables.get(name)
        if found is not None:
            return found
        named = self.type_names.get(name)
        if named is not None:
            return types.type_of(named)
        if name in WELL_KNOWN:
            return types.type_of(WELL_KNOWN[name][0])
        if name in ENUM_VALUES:
            return types.INT
        if name in self.structs or self._is_dynamic(name):
            return types.type_of(types.struct(name))
        return None

    def longest_name(self, root: str) -> int:
        """The most parts that a name beginning with `root` can have."""
        if self._is_dynamic(root):
            return _NO_LIMIT
        prefix = f"{root}."
        names = (*self.variables, *self.type_names, *self.structs, *WELL_KNOWN, *ENUM_VALUES)
        return max((name.count(".") + 1 for name in names if name.startswith(prefix)), default=1)

    def type_value(self, name: str) -> TypeValue | None:
        """A type as a value; dynamic and declared object types have none."""
        return TypeValue(name) if name in self.type_names else None

    def field_type(self, struct: str, field: str) -> Type | None:
        """The type of a field, or None when there is no such field."""
        if self._is_dynamic(struct):
            return types.DYN
        if struct in WELL_KNOWN:
            return WELL_KNOWN[struct][1].get(field)
        return self.structs.get(struct, {}).get(field)

    def has_fields(self, struct: str) -> bool:
        """Whether the fields of a type are known."""
        return struct in self.structs or struct in WELL_KNOWN or self._is_dynamic(struct)

    def _is_dynamic(self, name: str) -> bool:
        return self.dynamic_objects and (name == "Object" or name.startswith("Object."))

    def with_variables(self, fields: Fields) -> Env:
        """The same with `variables.<name>` for each field (composition)."""
        return replace(
            self,
            variables={**self.variables, "variables": VARIABLES_TYPE},
            structs={**self.structs, VARIABLES_TYPE.name: dict(fields)},
        )

    def declare(self, variables: Mapping[str, Type], structs: Mapping[str, Fields] | None = None) -> Env:
        """The same with more variables and object types."""
        return replace(
            self,
            variables={**self.variables, **variables},
            structs={**self.structs, **(structs or {})},
        )


def minor_of(version: str) -> int:
    """The minor number of `1.36`."""
    return int(version.removeprefix("v").split(".")[1])


def merge_functions(declared: Iterable[FunctionDecl]) -> dict[str, FunctionDecl]:
    """Functions by name; several declarations of one name are one function with all overloads."""
    merged: dict[str, FunctionDecl] = {}
    for function in declared:
        known = merged.get(function.name)
        if known is None:
            merged[function.name] = function
            continue
        ids = {overload.id for overload in known.overloads}
        added = tuple(overload for overload in function.overloads if overload.id not in ids)
        merged[function.name] = replace(
            known,
            overloads=known.overloads + added,
            bind=known.bind or function.bind,
            cost=known.cost if known.cost is not None else function.cost,
            fold=known.fold or function.fold,
        )
    return merged


@cache
def base_env(minor: int, *, devices: bool = False) -> Env:
    """The libraries of one minor version and nothing else."""
    chosen = tuple(lib.libraries(minor, devices=devices))
    type_names = dict(_BASIC_TYPES)
    for library in chosen:
        type_names |= {declared.name: declared for declared in library.types()}
    return Env(
        functions=merge_functions(function for library in chosen for function in library.declarations()),
        variables={},
        type_names=type_names,
        structs={},
        macros=macros.table(macro for library in chosen for macro in library.macros),
        validators=frozenset(name for library in chosen for name in library.validators),
    )


def admission_env(
    version: str,
    *,
    has_params: bool,
    patch_types: bool,
    stored: bool = False,
    authorizer: bool = True,
) -> Env:
    """What the API server of a version declares for a policy.

    A new policy is compiled with the libraries of the version before, so that a roll-back stays possible; a
    stored one with all that the server knows.
    """
    compatible = lib.NEVER if stored else minor_of(version) - 1
    return compat_env(compatible, has_params, patch_types, authorizer)


@cache
def compat_env(minor: int, has_params: bool, patch_types: bool, authorizer: bool = True) -> Env:
    """The same by compatibility version."""
    variables = {
        "object": types.DYN,
        "oldObject": types.DYN,
        "namespaceObject": types.struct("kubernetes.Namespace"),
        "request": types.struct("kubernetes.AdmissionRequest"),
    }
    if has_params:
        variables["params"] = types.DYN
    structs: dict[str, Fields] = dict(_ADMISSION_STRUCTS)
    env = base_env(minor)
    if authorizer:
        variables["authorizer"] = _declared(env, "kubernetes.authorization.Authorizer")
        variables["authorizer.requestResource"] = _declared(env, "kubernetes.authorization.ResourceCheck")
    if patch_types:
        structs["JSONPatch"] = _JSON_PATCH
    return replace(env, variables=variables, structs=structs, dynamic_objects=patch_types)


LIST_ATTRIBUTES: Final = "list-attributes"
"""The feature gate `DRAListTypeAttributes`: attributes may be lists, so their type is `dyn`."""

_MOST_ENTRIES, _LONGEST_VALUE, _LONGEST_DOMAIN, _LONGEST_NAME, _LONGEST_DRIVER = 32, 64, 63, 32, 63
_CONSUMABLE_CAPACITY_SINCE: Final = 34


@cache
def device_env(version: str, features: frozenset[str] = frozenset()) -> Env:
    """What the scheduler of a version declares for DRA selectors; its libraries are those of stored ones."""
    env = base_env(lib.NEVER, devices=True)
    quantity = types.struct("kubernetes.Quantity")
    attribute = types.DYN if LIST_ATTRIBUTES in features else types.ANY
    fields = {
        "driver": types.STRING,
        "attributes": types.map_of(types.STRING, types.map_of(types.STRING, attribute)),
        "capacity": types.map_of(types.STRING, types.map_of(types.STRING, quantity)),
    }
    if minor_of(version) >= _CONSUMABLE_CAPACITY_SINCE:
        fields["allowMultipleAllocations"] = types.BOOL
    return replace(
        env.declare({"device": types.struct("kubernetes.DRADevice")}, {"kubernetes.DRADevice": fields}),
        sizes={"device": _device_sizes()},
    )


def _device_sizes() -> SizeDecl:
    domain, name = SizeDecl(_LONGEST_DOMAIN), SizeDecl(_LONGEST_NAME)
    attributes = SizeDecl(_MOST_ENTRIES, key=name, element=SizeDecl(_LONGEST_VALUE), is_attribute_map=True)
    capacities = SizeDecl(_MOST_ENTRIES, key=name, element=SizeDecl(0))
    return SizeDecl(
        0,
        {
            "driver": SizeDecl(_LONGEST_DRIVER),
            "allowMultipleAllocations": SizeDecl(1),
            "attributes": SizeDecl(_MOST_ENTRIES, key=domain, element=attributes),
            "capacity": SizeDecl(_MOST_ENTRIES, key=domain, element=capacities),
        },
    )


def _declared(env: Env, name: str) -> Type:
    return env.type_names.get(name, types.struct(name))


_ADMISSION_STRUCTS: Final[dict[str, Fields]] = {
    "kubernetes.GroupVersionKind": dict.fromkeys(("group", "version", "kind"), types.STRING),
    "kubernetes.GroupVersionResource": dict.fromkeys(("group", "version", "resource"), types.STRING),
    "kubernetes.UserInfo": {
        "username": types.STRING,
        "uid": types.STRING,
        "groups": _STRINGS,
        "extra": types.map_of(types.STRING, _STRINGS),
    },
    "kubernetes.AdmissionRequest": {
        "kind": types.struct("kubernetes.GroupVersionKind"),
        "resource": types.struct("kubernetes.GroupVersionResource"),
        "subResource": types.STRING,
        "requestKind": types.struct("kubernetes.GroupVersionKind"),
        "requestResource": types.struct("kubernetes.GroupVersionResource"),
        "requestSubResource": types.STRING,
        "name": types.STRING,
        "namespace": types.STRING,
        "operation": types.STRING,
        "userInfo": types.struct("kubernetes.UserInfo"),
        "dryRun": types.BOOL,
        "options": types.DYN,
    },
    "kubernetes.NamespaceMetadata": {
        "name": types.STRING,
        "generateName": types.STRING,
        "namespace": types.STRING,
        "labels": _STRING_MAP,
        "annotations": _STRING_MAP,
        "UID": types.STRING,
        "creationTimestamp": types.TIMESTAMP,
        "deletionGracePeriodSeconds": types.INT,
        "deletionTimestamp": types.TIMESTAMP,
        "generation": types.INT,
        "resourceVersion": types.STRING,
        "finalizers": _STRINGS,
    },
    "kubernetes.NamespaceSpec": {"finalizers": _STRINGS},
    "kubernetes.NamespaceCondition": {
        "status": types.STRING,
        "type": types.STRING,
        "lastTransitionTime": types.TIMESTAMP,
        "message": types.STRING,
        "reason": types.STRING,
    },
    "kubernetes.NamespaceStatus": {
        "conditions": types.list_of(types.struct("kubernetes.NamespaceCondition")),
        "phase": types.STRING,
    },
    "kubernetes.Namespace": {
        "metadata": types.struct("kubernetes.NamespaceMetadata"),
        "spec": types.struct("kubernetes.NamespaceSpec"),
        "status": types.struct("kubernetes.NamespaceStatus"),
    },
}
