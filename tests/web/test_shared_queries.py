from __future__ import annotations

import asyncio

import pytest

from zonal.web.shared_queries import SharedQueries


async def test_equal_queries_that_wait_are_asked_once() -> None:
    queries: SharedQueries[int] = SharedQueries()
    asked, gate = [], asyncio.Event()

    async def ask() -> int:
        asked.append(len(asked))
        number = asked[-1]
        await gate.wait()
        return number

    first = asyncio.create_task(queries.ask("a", ask))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert asked == [0]
    rest = [asyncio.create_task(queries.ask("a", ask)) for _ in range(20)]
    other = asyncio.create_task(queries.ask("b", ask))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    gate.set()
    assert await first == 0
    # They came after the first was asked, so they get an answer that is newer than it.
    answers = await asyncio.gather(*rest)
    assert set(answers) == {2} or set(answers) == {1}
    assert await other in {1, 2}
    assert len(asked) == 3


async def test_nobody_gets_an_answer_from_before_the_question() -> None:
    queries: SharedQueries[int] = SharedQueries()
    state = [0]

    async def ask() -> int:
        seen = state[0]
        await asyncio.sleep(0.01)
        return seen

    async def client(number: int) -> None:
        for _ in range(20):
            state[0] += 1
            wrote = state[0]
            assert await queries.ask("a", ask) >= wrote, number

    await asyncio.gather(*(client(number) for number in range(5)))


async def test_a_slow_query_does_not_hold_up_the_next() -> None:
    queries: SharedQueries[str] = SharedQueries()
    never = asyncio.Event()

    async def slow() -> str:
        await never.wait()
        return "slow"

    async def quick() -> str:
        return "quick"

    stuck = asyncio.create_task(queries.ask("a", slow))
    await asyncio.sleep(0.01)
    assert await asyncio.wait_for(queries.ask("a", quick), 2) == "quick"
    never.set()
    assert await stuck == "slow"
    assert not queries._asked
    assert not queries._waiting


async def test_errors_reach_everyone_and_are_forgotten() -> None:
    queries: SharedQueries[int] = SharedQueries()

    async def fail() -> int:
        await asyncio.sleep(0)
        raise ValueError("no")

    outcomes = await asyncio.gather(
        *(queries.ask("a", fail) for _ in range(3)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [ValueError] * 3
    with pytest.raises(ValueError, match="no"):
        await queries.ask("a", fail)


async def test_one_who_leaves_does_not_take_the_answer_along() -> None:
    queries: SharedQueries[int] = SharedQueries()

    async def ask() -> int:
        await asyncio.sleep(0.05)
        return 1

    leaving = asyncio.create_task(queries.ask("a", ask))
    staying = asyncio.create_task(queries.ask("a", ask))
    await asyncio.sleep(0.01)
    leaving.cancel()
    assert await staying == 1
