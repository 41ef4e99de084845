from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zonal.pipeline import recorded_messages
from zonal.pipeline.recorded_messages import RecordedMessages
from zonal.pipeline.recorded_numbers import RecordedNumbers
from zonal.pipeline.rows import MessageColumns


def is_new(
    known: RecordedMessages, source: str, sequence: int, stamp: str | None, content: int
) -> bool:
    """One message whose payload is the content."""
    columns = MessageColumns.empty()
    row = ("t", 45.0, 9.0, None, None, b"%d" % content, "", "put", stamp, source, sequence, 0)
    for column, value in zip(columns, row, strict=True):
        column.append(value)
    return known.add(columns) == [True]


STAMPS = st.sampled_from(["1/a", "2/a", "3/b"])


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), STAMPS, st.integers(0, 2))))
def test_each_message_is_new_once_whatever_number_it_claims(
    messages: list[tuple[str, int, str, int]],
) -> None:
    known = RecordedMessages(RecordedNumbers())
    seen: set[tuple[str, int, str, int]] = set()
    for message in messages:
        count = sum(other[:2] == message[:2] for other in seen)
        if count > recorded_messages.MOST_CLAIMS:
            continue  # so many claims of one number are not all remembered
        assert is_new(known, *message) == (message not in seen)
        seen.add(message)


def test_what_the_log_knows_is_compared_by_its_stamp() -> None:
    numbers = RecordedNumbers({"a": [[0, 9]]})
    known = RecordedMessages(numbers, [("a", 9, "9/a")])
    assert not is_new(known, "a", 9, "9/a", 1)  # comes again
    assert is_new(known, "a", 9, "77/a", 1)  # another one with its number
    assert not is_new(known, "a", 9, "77/a", 1)
    assert not is_new(known, "a", 9, None, 1)  # of an unstamped one nothing else is known
    assert not is_new(known, "a", 3, "77/a", 1)  # older than what is remembered: the number decides
    assert is_new(known, "a", 2**40, "1/a", 1)  # a time stamp in place of a number


def test_memory_is_bounded() -> None:
    known = RecordedMessages(RecordedNumbers())
    for number in range(3 * recorded_messages.REMEMBERED):
        assert is_new(known, "a", number, f"{number}/a", number)
    assert len(known._first) + len(known._older) <= 2 * recorded_messages.REMEMBERED
    assert not is_new(known, "a", 0, "fake", 1)
    assert is_new(known, "a", number, "fake", 1)
