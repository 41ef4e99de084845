"""Pages hold together: links and citations lead somewhere, decisions have one form, no holes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DECISIONS = sorted((DOCS / "decisions").glob("[0-9]*.md"))
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "lab" / "README.md"])
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
SOURCES = set(re.findall(r"^- \*\*(.+?)\*\*: ", (DOCS / "references.md").read_text(), re.MULTILINE))


def links(page: Path) -> list[tuple[str, str]]:
    """The label and the target of every link and picture, those in code blocks aside."""
    return LINK.findall(re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    targets = {target.partition("#")[0] for _, target in links(page) if "://" not in target}
    missing = {target for target in targets if target and not (page.parent / target).exists()}
    assert missing == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_cited_sources_are_on_the_page_of_references(page: Path) -> None:
    cited = {label for label, target in links(page) if target.endswith("references.md")}
    unknown = {label for label in cited if re.search(r"\d", label)} - SOURCES
    assert unknown == set()


def test_decisions_are_numbered_without_holes() -> None:
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_has_the_form_of_all(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# {int(path.name[:4])}. ")
    assert re.search(r"^Status: (accepted|superseded by \[decision \d+\])", text, re.MULTILINE)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]


def test_the_index_of_decisions_has_a_line_for_each() -> None:
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \| \[(.+?)\]\((.+?)\)", index, re.MULTILINE)
    listed.sort(key=lambda row: int(row[0]))  # rows stand in the tables of their parts
    titles = [path.read_text(encoding="utf-8").splitlines()[0] for path in DECISIONS]
    assert [f"# {number}. {title}" for number, title, _ in listed] == titles
    assert [name for _, _, name in listed] == [path.name for path in DECISIONS]
