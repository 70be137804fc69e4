"""CEL as the Kubernetes API server runs it. How to use the package:

```python
from policygen.cel.env import admission_env
from policygen.cel.budget import Budget
from policygen.cel.program import compile_program
from policygen.cel.errors import CompileError, EvalError

env = admission_env("1.36", has_params=True, patch_types=True)   # cached; cheap to ask for again
env = env.with_variables({"tier": types.STRING})                 # declares `variables.tier`, typed
program = compile_program("object.spec.priority > 5", env)       # or CompileError with the server's text
program.result_type                                              # types.BOOL
program.evaluate({"object": pod, "request": {...}})              # the value, or EvalError
value, cost = program.evaluate_with_cost(activation, limit=1_000_000)    # EvalError.cost on failure
program.evaluate(activation, limit=PER_CALL_LIMIT, budget=Budget(10_000_000))   # budget shared by calls
```

- Activation: a mapping of names to values. Data is plain JSON-like Python, never copied or changed; values
  are described in `values`. `variables` is a `LazyVariables` (module `composition`): each entry is evaluated
  on first use, once.
- Errors: `CompileError.server_text` is the API server's line including `compilation failed: `; `.issues` have
  offsets. `EvalError.message` is the server's text; `CostLimitExceededError` is the limit of a call.
- `env.admission_env(version, *, has_params, patch_types, stored=False, authorizer=True)`: new expressions on
  a server of version V see the libraries of V - 1, stored ones all that V knows. Match conditions use
  the same environment without `variables`. `env.device_env(version, features)` is DRA's.
- Functions: `decls.FunctionDecl` in modules of `lib`, gated by version in `lib.LIBRARIES`.
- Static estimate (DRA): `estimate.estimate_cost(program.checked) -> Range`.

Phases: `lexer` → `parser` (+ `macros`) → `checker` → `planner` → `program`. Text goes back with `unparse`.
"""
