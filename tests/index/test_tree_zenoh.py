"""The tree against Zenoh itself: every answer of `zenoh.KeyExpr` must be the tree's."""

from __future__ import annotations

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from property_examples import examples
from zonal.errors import TopicError
from zonal.index.filters import Syntax, canonical_chunks, read_filter
from zonal.index.tree import TopicTree

plain_chunks = st.sampled_from(["a", "b", "ab", "abc", "ba", "c", "@a", "@b", "a@", "+"])
wild_chunks = st.sampled_from(
    ["*", "**", "a$*", "$*a", "$*b$*", "a$*c", "b$*a", "$*@", "@a$*", "a$*b$*c", "$*"]
)
keys = st.lists(plain_chunks, min_size=1, max_size=5).map("/".join)
expressions = st.lists(st.one_of(plain_chunks, wild_chunks), min_size=1, max_size=5).map("/".join)


def tree_of(filters: list[str]) -> TopicTree[str]:
    tree: TopicTree[str] = TopicTree()
    for text in filters:
        tree.set(read_filter(text, Syntax.ZENOH), "/".join(canonical_chunks(text)))
    return tree


def ask_zenoh(filters: list[str], key: str) -> list[str]:
    asked = zenoh.KeyExpr("/".join(canonical_chunks(key)))
    canonical = {"/".join(canonical_chunks(text)) for text in filters}
    return sorted(text for text in canonical if zenoh.KeyExpr(text).intersects(asked))


@examples(400)
@given(st.lists(expressions, max_size=12), keys)
def test_keys_find_the_expressions_that_zenoh_says_match(filters: list[str], key: str) -> None:
    assert sorted(tree_of(filters).match(key, Syntax.ZENOH)) == ask_zenoh(filters, key)


@examples(400)
@given(st.lists(expressions, max_size=12), expressions)
def test_expressions_find_the_expressions_that_zenoh_says_intersect(
    filters: list[str], key: str
) -> None:
    assert sorted(tree_of(filters).match(key, Syntax.ZENOH)) == ask_zenoh(filters, key)


@examples(300)
@given(st.text("ab@$*+?#/", min_size=1, max_size=8))
def test_an_expression_is_refused_exactly_where_zenoh_refuses_its_canonical_form(
    text: str,
) -> None:
    try:
        canonical = "/".join(canonical_chunks(text))
    except TopicError:
        with pytest.raises(zenoh.ZError):
            zenoh.KeyExpr(text)
    else:
        assert str(zenoh.KeyExpr(canonical)) == canonical


@pytest.mark.parametrize(
    ("expression", "key", "expected"),
    [
        ("a/**", "a", True),
        ("**", "a/b/c", True),
        ("**", "@a", False),
        ("*", "@a", False),
        ("**", "a/@s2/1", False),
        ("**/@s2/**", "a/@s2/1", True),
        ("a/@x$*", "a/@xy", False),
        ("a/b$*c", "a/bc", True),
        ("a/$*b", "a/@b", False),
        ("a/*/c", "a/c", False),
    ],
)
def test_zenoh_rules_by_example(expression: str, key: str, expected: bool) -> None:
    assert bool(tree_of([expression]).match(key, Syntax.ZENOH)) is expected
    assert zenoh.KeyExpr(expression).intersects(zenoh.KeyExpr(key)) is expected


def test_a_node_reached_in_two_ways_is_found_once() -> None:
    assert tree_of(["**/a/**/b"]).match("a/a/a/b", Syntax.ZENOH) == ["**/a/**/b"]


def test_deleting_the_last_filter_leaves_an_empty_tree() -> None:
    tree = tree_of(["a/b/*", "a/b"])
    tree.delete(read_filter("a/b/*", Syntax.ZENOH))
    assert tree.match("a/b/c", Syntax.ZENOH) == []
    assert tree.match("a/b", Syntax.ZENOH) == ["a/b"]
    tree.delete(read_filter("a/b", Syntax.ZENOH))
    assert tree._root.is_bare
    tree.delete(read_filter("never/there", Syntax.ZENOH))
