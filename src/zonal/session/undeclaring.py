"""What all that a session has declared has in common: it is there until it is undeclared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from zonal.geo import Area
    from zonal.session.scope import Scope


class Declared:
    """Declared until `undeclare`, or until the end of the `with` block that it opens."""

    _closed = False

    def undeclare(self) -> None:
        """Be there no more."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undeclare()


class DeclaredInArea(Declared):
    """Declared for an area, which may follow the session's position."""

    _scope: Scope

    @property
    def area(self) -> Area | None:
        """The area now; one that follows the position where it is at the moment.

        None is the whole network.
        """
        return self._scope.area

    @property
    def is_ego_centric(self) -> bool:
        """Whether the area follows the session's position."""
        return self._scope.is_ego_centric

    @property
    def follows_position(self) -> bool:
        """Whether it has to be told where the session moves."""
        return not self._closed and self._scope.is_ego_centric
