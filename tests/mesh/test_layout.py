"""The ring over a tree: lemma 1, and one position per tree link end."""

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from meshes import random_tree
from property_examples import examples
from zonal.mesh.layout import lay_out


@examples(300)
@given(st.integers(1, 60), st.integers(0, 2**32))
def test_lemma_1_positions_are_never_interlaced(nodes: int, seed: int) -> None:
    layout = lay_out(random_tree(nodes, random.Random(seed)))
    where = layout.positions
    for v in where:
        for w in where:
            if v == w:
                continue
            first = where[v][0]
            gaps = {sum((p - first) % layout.length <= (q - first) % layout.length
                        for p in where[v]) for q in where[w]}  # fmt: skip
            assert len(gaps) == 1, f"{w} has positions in several segments of {v}"


@examples(200)
@given(st.integers(2, 60), st.integers(0, 2**32))
def test_ring_has_one_position_per_tree_link_end(nodes: int, seed: int) -> None:
    tree = random_tree(nodes, random.Random(seed))
    layout = lay_out(tree)
    links = Counter(n for a, b in tree.items() if a != b for n in (a, b))
    assert layout.length == 2 * (nodes - 1)
    assert {n: len(p) for n, p in layout.positions.items()} == links
    assert sorted(p for places in layout.positions.values() for p in places) == list(
        range(layout.length)
    )
    owner = {p: node for node, places in layout.positions.items() for p in places}
    for at, node in owner.items():
        following = owner[(at + 1) % layout.length]
        assert tree[node] == following or tree[following] == node
