from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zonal.pipeline import recorded_messages
from zonal.pipeline.recorded_messages import RecordedMessages
from zonal.pipeline.recorded_numbers import RecordedNumbers
from zonal.pipeline.rows import MessageColumns

Message = tuple[str, int, tuple[int | None, str | None], int]
"""Its source and number, its time stamp with the clock, and its content."""


def are_new(known: RecordedMessages, messages: list[Message]) -> list[bool]:
    """Messages whose payload is the content."""
    columns = MessageColumns.empty()
    for source, sequence, (time, clock), content in messages:
        payload = b"%d" % content
        row = ("t", 45.0, 9.0, None, None, payload, "", "put", time, clock, source, sequence, 0)
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return known.add(columns)


def is_new(
    known: RecordedMessages,
    source: str,
    sequence: int,
    stamp: tuple[int | None, str | None],
    content: int,
) -> bool:
    """One message."""
    return are_new(known, [(source, sequence, stamp, content)]) == [True]


STAMPS = st.sampled_from([(1, "a"), (2, "a"), (3, "b"), (3, "a")])
MESSAGES = st.tuples(st.sampled_from("ab"), st.integers(0, 5), STAMPS, st.integers(0, 2))


@given(st.lists(MESSAGES))
def test_each_message_is_new_once_whatever_number_it_claims(messages: list[Message]) -> None:
    known = RecordedMessages(RecordedNumbers())
    seen: set[Message] = set()
    for message in messages:
        count = sum(other[:2] == message[:2] for other in seen)
        if count > recorded_messages.MOST_CLAIMS:
            continue  # so many claims of one number are not all remembered
        assert is_new(known, *message) == (message not in seen)
        seen.add(message)


@given(
    st.lists(
        st.one_of(
            st.lists(MESSAGES, min_size=1, max_size=5),
            st.tuples(st.integers(0, 9), st.integers(1, 5)).map(
                lambda run: [("a", run[0] + more, (more, "a"), 0) for more in range(run[1])]
            ),
        )
    )
)
def test_many_at_once_are_as_new_as_one_by_one(batches: list[list[Message]]) -> None:
    together, apart = RecordedMessages(RecordedNumbers()), RecordedMessages(RecordedNumbers())
    for batch in batches:
        assert are_new(together, batch) == [is_new(apart, *message) for message in batch]


def test_what_the_log_knows_is_compared_by_its_stamp() -> None:
    numbers = RecordedNumbers({"a": [[0, 9]]})
    known = RecordedMessages(numbers, [("a", 9, 9, "a")])
    assert not is_new(known, "a", 9, (9, "a"), 1)  # comes again
    assert is_new(known, "a", 9, (77, "a"), 1)  # another one with its number
    assert not is_new(known, "a", 9, (77, "a"), 1)
    assert not is_new(known, "a", 9, (None, None), 1)  # of an unstamped one nothing else is known
    assert not is_new(known, "a", 3, (77, "a"), 1)  # not remembered: the number decides
    assert is_new(known, "a", 2**40, (1, "a"), 1)  # a time stamp in place of a number


def test_memory_is_bounded() -> None:
    known = RecordedMessages(RecordedNumbers())
    for number in range(3 * recorded_messages.REMEMBERED):
        assert is_new(known, "a", number, (number, "a"), number)
    assert len(known._first) + len(known._older) <= 2 * recorded_messages.REMEMBERED
    assert not is_new(known, "a", 0, (-1, "fake"), 1)
    assert is_new(known, "a", number, (-1, "fake"), 1)
