from __future__ import annotations

from zonal.pipeline.rows import MessageColumns


def columns(*times: int | None) -> MessageColumns:
    """Messages that differ in their time stamps."""
    found = MessageColumns.empty()
    for time in times:
        clock = None if time is None else "8696cb"
        row = ("t", 45.0, 9.0, None, None, b"x", "", "put", time, clock, "a", 1, 0)
        for column, value in zip(found, row, strict=True):
            column.append(value)
    return found


def test_a_stamp_that_a_column_cannot_hold_is_left_out_and_its_message_kept() -> None:
    table = columns(7708684704472737860, 2**63, None).to_table()
    assert table["ntp64"].to_pylist() == [7708684704472737860, None, None]
    assert table["clock"].to_pylist() == ["8696cb", None, None]
    assert [moment is None for moment in table["timestamp"].to_pylist()] == [False, True, True]
    assert table["payload"].to_pylist() == [b"x"] * 3


def test_messages_are_split_marked_and_put_behind_others() -> None:
    rows = columns(1, 2, 3)
    first, others = rows.split(1)
    assert (first.ntp64, others.ntp64) == ([1], [2, 3])
    first.extend(others.where([False, True]))
    assert first.ntp64 == [1, 3]
    assert (first.rows, first.weight) == (2, 4)
    assert first.to_table().num_rows == 2
