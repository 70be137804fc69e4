"""Patch planning: IR nodes become mutations that the API server accepts, for each shape of workload.

`planner.plan` is the entry. What every planned mutation guarantees (the reasons are in `docs/decisions`):

- *accepted*: ApplyConfiguration only where the schema has nothing atomic on the way, else JSONPatch without a
  list or map of `Object…{}` values, with `dyn()` in mixed literals and escaped keys;
- *idempotent and minimal*: guarded by "not there yet", so that a second run changes nothing;
- *order-independent*: it reads only what it writes itself, what no mutation of the bundle changes, and the
  limit-or-claim predicate, which every mutation keeps;
- *null-safe*: absent, null and empty read the same, in typed objects and in custom ones.
"""
