from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zonal.pipeline import recorded_messages
from zonal.pipeline.recorded_messages import RecordedMessages
from zonal.pipeline.recorded_numbers import RecordedNumbers

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
        assert known.add(*message) == (message not in seen)
        seen.add(message)


def test_what_the_log_knows_is_compared_by_its_stamp() -> None:
    numbers = RecordedNumbers({"a": [[0, 9]]})
    known = RecordedMessages(numbers, [("a", 9, "9/a")])
    assert not known.add("a", 9, "9/a", 1)  # comes again
    assert known.add("a", 9, "77/a", 1)  # another one with its number
    assert not known.add("a", 9, "77/a", 1)
    assert not known.add("a", 9, None, 1)  # of an unstamped one nothing else is known
    assert not known.add("a", 3, "77/a", 1)  # older than what is remembered: the number decides
    assert known.add("a", 2**40, "1/a", 1)  # a time stamp in place of a number


def test_memory_is_bounded() -> None:
    known = RecordedMessages(RecordedNumbers())
    for number in range(3 * recorded_messages.REMEMBERED):
        assert known.add("a", number, f"{number}/a", number)
    assert len(known._first) + len(known._older) <= 2 * recorded_messages.REMEMBERED
    assert not known.add("a", 0, "fake", 1)
    assert known.add("a", number, "fake", 1)
