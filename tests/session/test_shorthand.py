from __future__ import annotations

from typing import TYPE_CHECKING

from zonal.session.shorthand import Shorthands

if TYPE_CHECKING:
    from typing import Any


class Declared:
    """Stands for Zenoh's declarations: which keys are declared now."""

    def __init__(self) -> None:
        self.keys: set[str] = set()

    def __call__(self, key: str, handler: Any) -> Any:
        del handler
        self.keys.add(key)
        outer = self

        class Subscriber:
            def undeclare(self) -> None:
                outer.keys.discard(key)

        return Subscriber()


def test_a_key_is_declared_once_it_was_heard_often() -> None:
    declared = Declared()
    shorthands = Shorthands(declared)
    for _ in range(15):
        shorthands.heard("t/@s2/1/2")
    assert declared.keys == set()
    for _ in range(5):
        shorthands.heard("t/@s2/1/2")
    assert declared.keys == {"t/@s2/1/2"}
    assert "t/@s2/1/2" in shorthands.declared


def test_keys_with_wildcards_are_left_alone() -> None:
    declared = Declared()
    shorthands = Shorthands(declared)
    for _ in range(50):
        shorthands.heard("t/@s2/1/**")
    assert declared.keys == set()


def test_the_longest_unheard_key_makes_room() -> None:
    declared = Declared()
    shorthands = Shorthands(declared)
    for number in range(65):
        for _ in range(16):
            shorthands.heard(f"t/{number}")
        shorthands.heard("t/0")
    assert len(declared.keys) == 64
    assert "t/0" in declared.keys
    assert "t/1" not in declared.keys


def test_keys_go_with_the_expression_that_included_them() -> None:
    declared = Declared()
    shorthands = Shorthands(declared)
    for key in ("t/@s2/1/2", "t/@s2/3/4"):
        for _ in range(16):
            shorthands.heard(key)
    shorthands.keep(["t/@s2/3/**"])
    assert declared.keys == {"t/@s2/3/4"}
    shorthands.close()
    assert declared.keys == set()
    for _ in range(20):
        shorthands.heard("t/@s2/3/4")
    assert declared.keys == set()
