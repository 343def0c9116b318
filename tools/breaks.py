"""Breaks: take every check away, one code at a time, and see whether a test notices.

``python -m tools.breaks [CODE ...]`` runs the tests whose files name the codes, all codes if none
is given. A test that meets a finding is run again with findings of that code dropped wherever they
are raised, yielded, listed or returned; the code has a test if one fails so, and passes once more
when they are back. What it prints last is the codes that no test would miss.

Product code has no switch for this: its modules are rewritten while pytest imports them, in memory.
Not seen: tests that start processes of their own.
"""

from __future__ import annotations

import ast
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LONGEST = 400  # a list of more elements is data, not findings
SECONDS = 30  # after which a test without a finding has failed
TRIES = 60  # tests that meet a finding and pass without it: more would be its users, not its tests


@dataclass
class State:
    """What is dropped now, and what was met.

    Attributes:
        dropped: The code whose findings do not exist, or nothing.
        met: Codes of the findings that the test has made.
        wanted: Codes that no test has missed yet.
        missed: The test that misses each of the others.
        tries: How many tests have met a code without missing it.
    """

    dropped: str = ""
    met: set[str] = field(default_factory=set)
    wanted: set[str] = field(default_factory=set)
    missed: dict[str, str] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)


class Endless(BaseException):
    """A refusal was all that ended a loop; no exception that anyone would catch."""


STATE = State()


def keeps(value: Any) -> bool:
    """Whether a finding stays; whatever is none does."""
    return not STATE.dropped or getattr(value, "code", "") != STATE.dropped or not _is_one(value)


def rest(value: Any) -> Any:
    """What a list, tuple or dictionary is without what is dropped, at any depth."""
    if not STATE.dropped or type(value) not in (list, tuple, dict) or len(value) > LONGEST:
        return value
    if type(value) is dict:
        return _rest_of_dict(value)
    kept = [rest(item) for item in value if keeps(item)]
    same = len(kept) == len(value) and all(a is b for a, b in zip(kept, value, strict=True))
    return value if same else type(value)(kept)


def _rest_of_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    kept = {key: rest(item) for key, item in value.items() if keeps(item)}
    same = len(kept) == len(value) and all(kept[key] is value[key] for key in value)
    return value if same else kept


def error(value: Any) -> Any:
    """What is left to raise: nothing, if every finding of an `InputError` is dropped."""
    findings = getattr(value, "findings", None)
    if not STATE.dropped or not isinstance(value, Exception) or findings is None:
        return value
    kept = [finding for finding in findings if keeps(finding)]
    return value if len(kept) == len(findings) else type(value)(kept) if kept else None


def _is_one(value: Any) -> bool:
    return type(value).__name__ == "Finding"


class Rewrite(ast.NodeTransformer):
    """Statements that hand findings on, asking the functions above."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function that may return no finding returns none."""
        self.generic_visit(node)
        if node.returns is not None and "Finding | None" in ast.unparse(node.returns):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return) and inner.value is not None:
                    inner.value = _expression(
                        "_it if _breaks.keeps(_it := VALUE) else None", inner.value
                    )
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Lists are returned without what is dropped."""
        if node.value is not None:
            node.value = _expression("_breaks.rest(VALUE)", node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Lists are kept without what is dropped."""
        self.generic_visit(node)
        node.value = _expression("_breaks.rest(VALUE)", node.value)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST | list[ast.stmt]:
        """An error is raised if something is left of it."""
        if node.exc is None:
            return node
        head = _statement("_error = _breaks.error(VALUE)", node.exc)
        tail = _statement("if _error is not None: raise _error")
        assert isinstance(tail, ast.If)
        tail.body = [ast.Raise(ast.Name("_error", ast.Load()), node.cause)]
        return [head, tail]

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        """A finding is yielded, appended or reported unless it is dropped."""
        held = node.value
        if isinstance(held, ast.Yield) and held.value is not None:
            head = _statement("_it = _breaks.rest(VALUE)", held.value)
            return [head, _statement("if _breaks.keeps(_it):\n yield _it")]
        if isinstance(held, ast.Call) and _hands_on(held):
            head = _statement("_it = VALUE", held.args[0])
            held.args[0] = ast.Name("_it", ast.Load())
            tail = _statement("if _breaks.keeps(_it): pass")
            assert isinstance(tail, ast.If)
            tail.body = [node]
            return [head, tail]
        return node


def _hands_on(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return False
    return call.func.attr in ("append", "report") and not isinstance(call.args[0], ast.Starred)


def _expression(text: str, value: ast.expr) -> ast.expr:
    return _Filled(value).visit(ast.parse(text, mode="eval").body)


def _statement(text: str, value: ast.expr | None = None) -> ast.stmt:
    made = ast.parse(text).body[0]
    return made if value is None else _Filled(value).visit(made)


@dataclass
class _Filled(ast.NodeTransformer):
    value: ast.expr

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.value if node.id == "VALUE" else node


class Loader(SourceFileLoader):
    """Compiles a module as rewritten, and leaves no trace of that on the disk."""

    def get_code(self, fullname: str) -> Any:
        """From the source, never from a cache."""
        tree = Rewrite().visit(ast.parse(self.get_data(self.path)))
        heads = [at for at, one in enumerate(tree.body, start=1) if _is_head(one)]
        place = max(heads, default=ast.get_docstring(tree) is not None)
        tree.body.insert(place, _statement("import tools.breaks as _breaks"))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)


def _is_head(statement: ast.stmt) -> bool:
    """Whether nothing may come before it."""
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


class Finder(MetaPathFinder):
    """Finds the modules of the package for `Loader`."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The usual spec, with another loader; errors themselves keep what they are given."""
        if name.partition(".")[0] != "openset" or name == "openset.findings":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which codes to take away."""
    parser.addoption("--breaks", default="", help="codes, with commas between them")


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before anything imports the package."""
    if any(name.partition(".")[0] == "openset" for name in sys.modules):
        raise pytest.UsageError("the package was imported before it could be rewritten")
    sys.modules["tools.breaks"] = sys.modules[__name__]
    sys.meta_path.insert(0, Finder())
    STATE.wanted = set(filter(None, early_config.known_args_namespace.breaks.split(",")))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test; then again without each finding that it met and that is still wanted.

    Only tests of files that name such a code: others may meet findings, but are not about them.
    """
    wanted = STATE.wanted & named_in(item.path)
    if wanted:
        _run_with_and_without(item, wanted)
    item.session._setupstate.teardown_exact(nextitem)
    return True


def _run_with_and_without(item: pytest.Item, wanted: set[str]) -> None:
    _meet_findings()
    STATE.met = set()
    reports = _run(item)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    if all(report.passed for report in reports):
        for code in sorted(STATE.met & wanted):
            _try_without(code, item)


def _try_without(code: str, item: pytest.Item) -> None:
    STATE.dropped = code
    signal.signal(signal.SIGALRM, _end)
    signal.alarm(SECONDS)
    try:
        missed = _fails(item)
    finally:
        signal.alarm(0)
        STATE.dropped = ""
    if missed and not _fails(item):
        STATE.wanted.discard(code)
        STATE.missed[code] = item.nodeid
        return
    STATE.tries[code] = STATE.tries.get(code, 0) + 1
    if STATE.tries[code] >= TRIES:
        STATE.wanted.discard(code)


def _end(*_: object) -> None:
    raise Endless


def _fails(item: pytest.Item) -> bool:
    return any(report.failed for report in _run(item))


def _run(item: pytest.Item) -> Sequence[Any]:
    """Run a test, and keep what its module shares."""
    from _pytest.runner import runtestprotocol

    return runtestprotocol(item, nextitem=_Sibling(item), log=False)  # type: ignore[arg-type]


@dataclass
class _Sibling:
    """Any other test of the same place, for those who ask what to keep for the next."""

    item: pytest.Item

    def listchain(self) -> list[Any]:
        """Where it is."""
        return self.item.listchain()[:-1]


def _meet_findings() -> None:
    """Have each finding that is made say its code."""
    found = sys.modules.get("openset.findings")
    if found is None or hasattr(found.Finding, "_breaks"):
        return
    usual = found.Finding.__post_init__

    def meet(self: Any) -> None:
        usual(self)
        STATE.met.add(self.code)

    found.Finding.__post_init__ = meet
    found.Finding._breaks = True


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Which test misses which code, and the codes that none misses."""
    asked = set(filter(None, config.getoption("--breaks").split(",")))
    for code in sorted(asked & STATE.missed.keys()):
        terminalreporter.write_line(f"{code}  {STATE.missed[code]}")
    none = sorted(asked - STATE.missed.keys())
    terminalreporter.write_line(f"{len(none)} of {len(asked)} codes have no test: {none}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A code that no test misses is a failure."""
    asked = set(filter(None, session.config.getoption("--breaks").split(",")))
    if asked - STATE.missed.keys():
        session.exitstatus = 1


@cache
def named_in(path: Path) -> frozenset[str]:
    """The codes that a file names, or a scene that it imports."""
    text = path.read_text("utf-8")
    scenes = (ROOT / f"tests/scenes/{name}.py" for name in re.findall(r"scenes\.(\w+)", text))
    every = [text, *(one.read_text("utf-8") for one in scenes if one.is_file())]
    return frozenset(re.findall(r"OS\d{3}", "".join(every)))


def main(arguments: Sequence[str]) -> int:
    """Run the tests of some codes, or of all."""
    from openset.codes import CODES

    codes = [word for word in arguments if word in CODES] or list(CODES)
    others = [word for word in arguments if word not in CODES]
    if all(word.startswith("-") for word in others):
        tests = sorted(
            (ROOT / "tests").rglob("test_*.py"), key=lambda one: ("cli" in one.parts, one)
        )
        others += [str(path.relative_to(ROOT)) for path in tests if named_in(path) & {*codes}]
    words = ["-p", "tools.breaks", "--breaks", ",".join(codes), *others]
    line = [sys.executable, "-m", "pytest", *words]
    return subprocess.run(line, cwd=ROOT, check=False).returncode  # noqa: S603 - our own tests


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
