"""What the site needs beside `docs`: pages of the repository's root, and notebooks as pages."""

from __future__ import annotations

import gc
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
PROJECT = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
_WHOLE = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def on_startup(**_: Any) -> None:
    """Look for garbage seldom: nearly all that a build makes stays to its end."""
    gc.set_threshold(50_000, 20, 100)


def on_files(files: Any, config: Any) -> Any:
    """Add the root's pages under `project/`, and every notebook as a page of its name."""
    for name in PROJECT:
        text = _LINK.sub(_from_root, (ROOT / name).read_text(encoding="utf-8"))
        files.append(File.generated(config, f"project/{name}", content=text))
    for file in [each for each in files if each.src_uri.endswith(".ipynb")]:
        page = f"{file.src_uri.removesuffix('.ipynb')}.md"
        files.append(File.generated(config, page, content=notebook_page(Path(file.abs_src_path))))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links out of `docs` to where the site has those pages; others become plain text."""
    folder = ROOT / "docs" / Path(page.file.src_uri).parent
    up = "../" * page.file.src_uri.count("/")

    def moved(match: re.Match[str]) -> str:
        text, target = match[1], match[2]
        if "://" in target or target.startswith("#") or page.file.src_uri.startswith("project/"):
            return match[0]
        path = (folder / target.partition("#")[0]).resolve()
        if path.suffix == ".ipynb":
            return f"[{text}]({target.removesuffix('.ipynb')}.md)"
        if path.name in PROJECT and path.parent == ROOT:
            return f"[{text}]({up}project/{path.name})"
        return match[0] if path.is_relative_to(ROOT / "docs") else text

    return _WHOLE.sub(moved, markdown)


def notebook_page(path: Path) -> str:
    """A notebook's cells as markdown."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(parts)


def _from_root(match: re.Match[str]) -> str:
    """A link of a page in the root, as it is from `project/`."""
    target = match[1]
    return f"](../{target.removeprefix('docs/')})" if target.startswith("docs/") else match[0]
