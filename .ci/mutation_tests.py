"""The tests that judge a changed module, for `.ci/mutate`.

As a plugin of pytest (``-p mutation_tests``) it writes to the file ``MUTATION_TESTS`` which tests execute which lines of
``MUTATED_MODULE``. As a program, ``mutation_tests.py FILE ORIGINAL MODULE``, it runs those that execute the function that differs
between ORIGINAL and MODULE, and exits as pytest does; a difference outside of functions concerns all tests of the file.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from itertools import zip_longest
from pathlib import Path

_AT_IMPORT = ""


def pytest_configure(config):
    config.pluginmanager.register(
        _Recorder(Path(os.environ["MUTATED_MODULE"]).resolve(), Path(os.environ["MUTATION_TESTS"]))
    )


class _Recorder:
    def __init__(self, module, output):
        import coverage

        self._module, self._output = module, output
        self._coverage = coverage.Coverage(include=[str(module)], data_file=None, config_file=False)
        self._tests = []

    def pytest_collection_finish(self, session):
        self._coverage.start()

    def pytest_runtest_logstart(self, nodeid, location):
        self._tests.append(nodeid)
        self._coverage.switch_context(nodeid)

    def pytest_sessionfinish(self, session):
        """Tests in the order in which they ran. Those in files of the module's name count as executing all of it."""
        self._coverage.stop()
        lines = self._coverage.get_data().contexts_by_lineno(str(self._module))
        named = {
            test for test in self._tests if Path(test.partition("::")[0]).stem.startswith(f"test_{self._module.stem}")
        }
        executing = named.union(*lines.values()) - {_AT_IMPORT}
        tests = [test for test in self._tests if test in executing]
        self._output.write_text(json.dumps({"tests": tests, "named": sorted(named), "lines": lines}))


def tests_of_change(record, original, changed):
    pairs = zip_longest(original.splitlines(), changed.splitlines())
    line = next((number for number, (before, after) in enumerate(pairs, 1) if before != after), 0)
    functions = [
        node
        for node in ast.walk(ast.parse(original))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= node.end_lineno
    ]
    if not functions:
        return record["tests"]
    # The innermost function. A default value of an argument is evaluated where the function is defined, so for all of its callers.
    body = max(functions, key=lambda node: node.lineno).body
    lines = range(body[0].lineno, body[-1].end_lineno + 1)
    executing = set(record["named"]).union(*(record["lines"].get(str(number), ()) for number in lines))
    return [test for test in record["tests"] if test in executing]


if __name__ == "__main__":
    record, original, module = map(Path, sys.argv[1:])
    tests = tests_of_change(json.loads(record.read_text()), original.read_text(), module.read_text())
    if not tests:
        sys.exit(0)
    os.execv(sys.executable, [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests])
