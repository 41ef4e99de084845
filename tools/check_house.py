"""The rules of the house that no other tool knows; `make check` runs it, and says what is broken.

- A package is used through its face: what its `__init__` lists. Imports past it are refused
  between packages (a package's own tests may look inside).
- No class name stands twice in the product, and no two files of a package differ by an s.
- No modules import each other in a circle, not even for types.
- Files stay short.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
SOURCES = {"zonal": ROOT / "src" / "zonal", "zonal_lab": ROOT / "lab" / "src" / "zonal_lab"}
USERS = ("benchmarks", "examples", "tools")
FACES = {"zonal.pipeline.jobs", "zonal.web.demo"}
"""Packages inside a package that others may use beside its own face."""
OPEN = {"zonal.errors"}
"""Modules that everybody may import directly."""
MOST_LINES_OF_FILE = 400
MEDIAN_LINES_OF_FILE = 150


class Import(NamedTuple):
    """One import statement: who imports what, and where it stands."""

    module: str
    target: str
    where: str


def main() -> int:
    """Print what is broken; the exit status says whether anything is."""
    files = {name: path for root in SOURCES for name, path in modules_of(root)}
    imports = [each for name, path in files.items() for each in imports_of(name, path, files)]
    for folder in USERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            imports += imports_of(f"{folder}.{path.stem}", path, files)
    broken = [
        *past_a_face(imports, files),
        *circles(imports, files),
        *names_used_twice(files),
        *names_that_differ_by_an_s(files),
        *sizes(files),
    ]
    for each in broken:
        print(each)
    lines = sum(path.read_text(encoding="utf-8").count("\n") for _, path in modules_of("zonal"))
    print(f"house: {len(files)} modules, {lines:,} lines of product, {len(broken)} rules broken")
    return 1 if broken else 0


def modules_of(root: str) -> Iterator[tuple[str, Path]]:
    """All modules of a distribution by name; a package stands for its `__init__`."""
    base = SOURCES[root]
    for path in sorted(base.rglob("*.py")):
        parts = path.relative_to(base).with_suffix("").parts
        yield ".".join((root, *(part for part in parts if part != "__init__"))), path


def imports_of(name: str, path: Path, files: dict[str, Path]) -> Iterator[Import]:
    """What a module imports from this house, those for types included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in files:
                    yield Import(name, alias.name, where)
        elif isinstance(node, ast.ImportFrom) and node.module in files:
            face = face_of(files[node.module])
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = inner in files and alias.name not in face
                yield Import(name, inner if is_module else node.module, where)


@cache
def face_of(path: Path) -> frozenset[str]:
    """What a module lists in `__all__`."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def room_of(module: str) -> str:
    """The package whose face stands for a module: `zonal.session`, `zonal_lab.location`, …."""
    return ".".join(module.split(".")[:2])


def past_a_face(imports: list[Import], files: dict[str, Path]) -> Iterator[str]:
    """Imports of a module inside another package."""
    for each in imports:
        room = room_of(each.target)
        if room == room_of(each.module) or each.target in OPEN | FACES:
            continue
        is_package = room in files and files[room].name == "__init__.py"
        if is_package and each.target != room and "." in room:
            yield f"{each.where}: imports {each.target}, past the face of {room}"


def circles(imports: list[Import], files: dict[str, Path]) -> Iterator[str]:
    """Groups of modules that import each other in a circle, unless a docstring explains it.

    A package's `__init__` is its face: it imports its modules, they never import it.
    """
    graph: dict[str, set[str]] = defaultdict(set)
    for each in imports:
        if each.module in files and each.module != each.target:
            graph[each.module].add(each.target)
    for group in strongly_connected(graph):
        rooms = {room_of(module) for module in group}
        room = next(iter(rooms))
        explained = len(rooms) == 1 and all(
            f"`{module.rpartition('.')[2]}`" in _docstring(files[room]) for module in group
        )
        if not explained:
            yield f"circle of imports: {', '.join(sorted(group))}"


def _docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def strongly_connected(graph: dict[str, set[str]]) -> list[set[str]]:
    """The groups of two or more modules that reach each other (Tarjan's algorithm)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in number:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == number[node]:
            at = stack.index(node)
            group = set(stack[at:])
            del stack[at:]
            if len(group) > 1:
                found.append(group)

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def names_used_twice(files: dict[str, Path]) -> Iterator[str]:
    """Class names that stand in two modules of the product."""
    homes: dict[str, list[str]] = defaultdict(list)
    for name, path in files.items():
        if name.partition(".")[0] == "zonal":
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    homes[node.name].append(name)
    for name, modules in sorted(homes.items()):
        if len(modules) > 1:
            yield f"class {name} stands in {', '.join(modules)}"


def names_that_differ_by_an_s(files: dict[str, Path]) -> Iterator[str]:
    """Two files of one package such as `source` and `sources`."""
    for name in files:
        if f"{name}s" in files:
            yield f"{name} and {name}s differ by an s"


def sizes(files: dict[str, Path]) -> Iterator[str]:
    """Files that are too long."""
    lines = {
        name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in files.items()
    }
    for name, count in lines.items():
        if count > MOST_LINES_OF_FILE:
            yield f"{name} has {count} lines, more than {MOST_LINES_OF_FILE}"
    product = [count for name, count in lines.items() if name.partition(".")[0] == "zonal"]
    if (median := statistics.median(product)) > MEDIAN_LINES_OF_FILE:
        yield f"the median file has {median:g} lines, more than {MEDIAN_LINES_OF_FILE}"


if __name__ == "__main__":
    sys.exit(main())
