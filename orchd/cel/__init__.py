"""CEL, the Common Expression Language: parsing, checking, estimating and evaluating expressions within a budget.

This package is pure: it imports nothing of orchd and no framework, reads no clock, and could be a distribution of its
own (it needs google-re2 for patterns). Owns the language and its libraries, and the view of data through structural
schemas. Must not know where expressions are used.

Use it like this::

    from orchd.cel.environment import Environment, Variable      # what expressions may refer to
    from orchd.cel.releases import environment_of_release         # the libraries of a release
    from orchd.cel.schema import declare_variable                 # a variable whose values are data of a schema

    schema = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    variable, structs = declare_variable(schema, "Widget", "example")
    environment = environment_of_release((1, 35), "example").with_variables({"self": variable}, structs)

    checked = environment.compile("self.replicas <= 3")           # once per expression; keep it
    checked.issues                                                # () or what is wrong; checked.text as one text
    checked.type                                                  # types.BOOL
    checked.estimate()                                            # Range(low=3, high=3): what it may cost
    program = checked.program()                                   # may raise program.ProgramError

    outcome = program.evaluate({"self": {"replicas": 5}}, budget=1_000_000)
    outcome.value, outcome.error, outcome.cost, outcome.cancelled # False, None, 3, False

Values of variables are plain data of JSON: a variable with a schema is looked at through it, only where an expression
looks, and nothing is copied. Variables of type dyn take dicts, lists, str, int, float, bool and None as they are.
Callables without arguments are called when a variable is first needed. An `Environment` and a `Program` are immutable
and may be shared.

Modules in the order in which an expression meets them: `source` (positions, issues), `lex`, `recovery` (syntax errors),
`parse`, `literals`, `macros`, `syntax` (the tree); `types`, `unify`, `check`, `validate`; `costs` (the model, and the
meter of an evaluation), `estimate`; `values`, `operators`, `numbers`, `times`, `base64_errors`, `regex`; `attributes`,
`fast_paths`, `calls`, `comparisons`, `control_flow`, `plans`, `program`. `declare` (functions and libraries as tables),
`libraries` (one module each), `environment` and `releases` declare what expressions may use; `objects`, `names` and
`schema` see data through schemas. `cases` and `wire` serve ``python -m orchd.cel``. docs/cel.md tells more.
"""
