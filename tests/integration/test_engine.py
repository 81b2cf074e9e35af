"""The conformance suite of the engine of background work, over each database: once, whoever dies, and nothing lost."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy import insert, select

from benchloop_server.kit.services import Services
from benchloop_server.kit.work import Run, WorkFailed
from benchloop_server.sql import claims, work
from benchloop_server.sql.tables import counters, work_steps
from tests.support.worked import LEASE, MICROS, PACE, Shop


@pytest.fixture
def shop(services: Services) -> Shop:
    """Engines over the database."""
    return Shop(services)


class Dies(BaseException):
    """A worker that ends without a word, as by SIGKILL."""


def _count(connection: Any, name: str) -> None:
    """A lasting effect that cannot happen twice unnoticed: the name is a primary key."""
    connection.execute(insert(counters).values(name=name, value=1))


def _counted(shop: Shop) -> list[str]:
    with shop.services.db.read() as connection:
        return sorted(name for name in connection.execute(select(counters.c.name)).scalars() if name.startswith("step-"))


def _three_steps(run: Run, seen: list[str], dies_in: str = "") -> None:
    for number in range(3):
        name = f"step-{number}"

        def compute(name: str = name) -> str:
            seen.append(name)
            if name == dies_in:
                raise Dies
            return name

        run.step(name, compute, _count)
        run.progress(number + 1, 3)


def test_work_is_done_once(shop: Shop) -> None:
    seen: list[str] = []
    shop.handle("count", lambda run: seen.append(run.item.key))
    shop.wish(args={"n": 1})
    engine = shop.engine()
    assert engine.has_work()
    assert engine.work_once()
    assert not engine.work_once()
    assert seen == ["a"]
    assert shop.standing().state == "done"


def test_a_wish_that_is_rolled_back_is_no_wish(shop: Shop) -> None:
    shop.handle("count", lambda run: None)
    with pytest.raises(RuntimeError), shop.services.db.write() as connection:
        work.enqueue(connection, work.Wish(workspace_id="default", kind="count", key="a"), now=shop.clock())
        raise RuntimeError
    assert not shop.engine().work_once()


def test_work_is_not_done_before_it_is_due(shop: Shop) -> None:
    shop.handle("count", lambda run: None)
    shop.wish(due_at=shop.clock() + 5 * MICROS)
    engine = shop.engine()
    assert not engine.work_once()
    shop.clock.pass_seconds(5)
    assert engine.work_once()


def test_what_somebody_waits_for_goes_first(shop: Shop) -> None:
    seen: list[str] = []
    shop.handle("count", lambda run: seen.append(run.item.key))
    for key, rank in (("upkeep", 20), ("pushed", 10), ("asked", 0), ("pushed-later", 10)):
        shop.clock.pass_seconds(1)
        shop.wish(key=key, rank=rank)
    engine = shop.engine()
    while engine.work_once():
        pass
    assert seen == ["asked", "pushed", "pushed-later", "upkeep"]


def test_kinds_without_a_handler_wait(shop: Shop) -> None:
    shop.handle("other", lambda run: None)
    shop.wish(kind="count")
    engine = shop.engine()
    assert not engine.has_work()
    assert not engine.work_once()
    assert shop.standing().state == "pending"


def test_a_second_wish_takes_the_place_of_one_that_waits(shop: Shop) -> None:
    seen: list[Any] = []
    shop.handle("count", lambda run: seen.append(run.item.args))
    first = shop.wish(args={"n": 1})
    assert shop.wish(args={"n": 2}) == first
    engine = shop.engine()
    while engine.work_once():
        pass
    assert seen == [{"n": 2}]


def test_a_wish_during_the_work_has_it_done_again(shop: Shop) -> None:
    seen: list[Any] = []

    def run(given: Run) -> None:
        given.step("only", lambda: seen.append(given.item.args))
        if given.item.args == {"n": 1}:
            shop.wish(args={"n": 2})

    shop.handle("count", run)
    shop.wish(args={"n": 1})
    engine = shop.engine()
    while engine.work_once():
        pass
    assert seen == [{"n": 1}, {"n": 2}]
    assert shop.standing().state == "done"


def test_work_that_ended_can_be_wished_for_again_and_repeats_its_steps(shop: Shop) -> None:
    seen: list[str] = []
    shop.handle("count", lambda run: run.step("only", lambda: seen.append("x")))
    engine = shop.engine()
    for _ in range(2):
        shop.wish()
        assert engine.work_once()
    assert seen == ["x", "x"]


def test_another_worker_takes_over_and_repeats_no_finished_step(shop: Shop) -> None:
    seen: list[str] = []
    shop.handle("count", lambda run: _three_steps(run, seen, dies_in="step-1"))
    shop.wish()
    with pytest.raises(Dies):
        shop.engine("w1").work_once()
    shop.handle("count", lambda run: _three_steps(run, seen))
    second = shop.engine("w2")
    assert not second.work_once(), "the first may still be alive"
    shop.clock.pass_seconds(LEASE + 1)
    assert second.has_work()
    second.attend()
    assert second.work_once()
    assert seen == ["step-0", "step-1", "step-1", "step-2"]
    assert _counted(shop) == ["step-0", "step-1", "step-2"]
    standing = shop.standing()
    assert (standing.state, standing.done, standing.total) == ("done", 2, 3)


def test_a_worker_that_is_known_to_be_gone_is_not_waited_for(shop: Shop) -> None:
    shop.handle("count", lambda run: _three_steps(run, [], dies_in="step-0"))
    shop.wish()
    with pytest.raises(Dies):
        shop.engine("w1").work_once()
    with shop.services.db.write() as connection:
        claims.forget(connection, "w1", now=shop.clock())
    shop.handle("count", lambda run: None)
    assert shop.engine("w2").work_once()


def test_a_worker_that_woke_up_late_writes_nothing(shop: Shop) -> None:
    """It slept longer than its lease in the middle of a step: what it then wants to write belongs to another."""
    second_ran: list[bool] = []

    def slow() -> str:
        shop.clock.pass_seconds(LEASE + 1)
        other = shop.engine("w2")
        shop.handlers["count"] = type(shop.handlers["count"])(lambda _services, run: _three_steps(run, []))
        second_ran.append(other.work_once())
        return "step-0"

    shop.handle("count", lambda run: run.step("step-0", slow, lambda connection, value: _count(connection, value + "-late")))
    shop.wish()
    assert shop.engine("w1").work_once()
    assert second_ran == [True]
    assert _counted(shop) == ["step-0", "step-1", "step-2"]
    assert shop.standing().state == "done"


def test_a_failure_is_tried_again_later_and_later_then_recorded(shop: Shop) -> None:
    told: list[str] = []

    def fail(_run: Run) -> None:
        raise OSError("the disk\nis away")

    shop.handle("count", fail, gave_up=lambda _connection, item, sentence: told.append(f"{item.key}: {sentence}"))
    shop.wish()
    engine = shop.engine()
    waits = []
    while shop.standing().state == "pending":
        waited = 0.0
        while not engine.work_once():
            shop.clock.pass_seconds(0.5)
            waited += 0.5
            assert waited < 60
        waits.append(waited)
    assert waits[0] == 0
    assert 1 <= waits[1] <= 2.5
    assert 2 <= waits[2] <= 4.5
    assert len(waits) == PACE.attempts
    assert shop.standing().error == "OSError: the disk is away"
    assert shop.standing().state == "failed"
    assert told == ["a: OSError: the disk is away"]


def test_a_failure_for_good_is_not_tried_again(shop: Shop) -> None:
    def fail(_run: Run) -> None:
        raise WorkFailed("the group has no jobs")

    shop.handle("count", fail)
    shop.wish()
    assert shop.engine().work_once()
    assert (shop.standing().state, shop.standing().error) == ("failed", "the group has no jobs")


def test_work_that_kills_its_worker_is_given_up(shop: Shop) -> None:
    told: list[str] = []

    def die(_run: Run) -> None:
        raise Dies

    shop.handle("count", die, gave_up=lambda _connection, _item, sentence: told.append(sentence))
    shop.wish()
    for number in range(PACE.attempts):
        with pytest.raises(Dies):
            shop.engine(f"w{number}").work_once()
        shop.clock.pass_seconds(LEASE + 1)
    assert shop.engine("last").work_once()
    assert shop.standing().state == "failed"
    assert told == ["the worker ended unexpectedly in the middle of it 3 times"]


def test_a_step_that_was_finished_gives_the_work_new_attempts(shop: Shop) -> None:
    """A worker may be killed often, as long as the work gets on."""
    for number in range(8):

        def run(given: Run, number: int = number) -> None:
            for step in range(number + 1):
                given.step(f"step-{step}", lambda step=step: f"step-{step}", _count)
            if number < 7:
                raise Dies

        shop.handle("count", run)
        if number == 0:
            shop.wish()
        engine = shop.engine(f"w{number}")
        if number < 7:
            with pytest.raises(Dies):
                engine.work_once()
        else:
            assert engine.work_once()
        shop.clock.pass_seconds(LEASE + 1)
    assert shop.standing().state == "done"
    assert _counted(shop) == [f"step-{number}" for number in range(8)]


def test_a_step_whose_writing_fails_leaves_nothing(shop: Shop) -> None:
    def store(connection: Any, value: str) -> None:
        _count(connection, value)
        raise OSError("no")

    shop.handle("count", lambda run: run.step("step-0", lambda: "step-0", store))
    shop.wish()
    shop.engine().work_once()
    assert _counted(shop) == []
    with shop.services.db.read() as connection:
        assert connection.execute(select(work_steps)).all() == []


def test_waiting_work_is_cancelled_at_once(shop: Shop) -> None:
    shop.handle("count", lambda run: None)
    shop.wish()
    with shop.services.db.write() as connection:
        assert work.cancel(connection, "default", "count", key="a", now=shop.clock())
        assert not work.cancel(connection, "default", "count", key="a", now=shop.clock())
    assert shop.standing().state == "cancelled"
    assert not shop.engine().work_once()


def test_work_that_is_being_done_is_cancelled_at_its_next_step(shop: Shop) -> None:
    seen: list[str] = []

    def run(given: Run) -> None:
        _three_steps(given, seen)

    def cancel_then_run(given: Run) -> None:
        given.step("first", lambda: None)
        with shop.services.db.write() as connection:
            assert work.cancel(connection, "default", "count", key="a", now=shop.clock())
        run(given)

    shop.handle("count", cancel_then_run)
    shop.wish()
    shop.engine().work_once()
    assert seen == []
    assert shop.standing().state == "cancelled"


def test_the_cancelled_work_of_a_dead_worker_is_not_done(shop: Shop) -> None:
    shop.handle("count", lambda run: _three_steps(run, [], dies_in="step-0"))
    shop.wish()
    with pytest.raises(Dies):
        shop.engine("w1").work_once()
    with shop.services.db.write() as connection:
        assert work.cancel(connection, "default", "count", key="a", now=shop.clock())
    shop.clock.pass_seconds(LEASE + 1)
    seen: list[str] = []
    shop.handle("count", lambda run: seen.append("ran"))
    assert shop.engine("w2").work_once()
    assert seen == []
    assert shop.standing().state == "cancelled"


def test_a_worker_that_is_told_to_stop_leaves_the_rest_to_others(shop: Shop) -> None:
    seen: list[str] = []
    engine = shop.engine("w1")

    def run(given: Run) -> None:
        given.step("first", lambda: seen.append("first"))
        engine.stop()
        given.step("second", lambda: seen.append("second"))

    shop.handle("count", run)
    shop.wish()
    engine = shop.engine("w1")
    assert engine.work_once()
    engine.leave()
    assert shop.standing().state == "pending"
    shop.handle("count", lambda given: [given.step(name, lambda name=name: seen.append(name)) for name in ("first", "second")] and None)
    assert shop.engine("w2").work_once()
    assert seen == ["first", "second"]


def test_the_result_of_a_finished_step_is_remembered(shop: Shop) -> None:
    def first(given: Run) -> None:
        given.step("list", lambda: {"ids": ["a", "b"]})
        raise Dies

    answers: list[Any] = []
    shop.handle("count", first)
    shop.wish()
    with pytest.raises(Dies):
        shop.engine("w1").work_once()
    shop.clock.pass_seconds(LEASE + 1)
    shop.handle("count", lambda given: answers.append(given.step("list", lambda: {"ids": ["never"]})))
    assert shop.engine("w2").work_once()
    assert answers == [{"ids": ["a", "b"]}]


def test_many_workers_do_each_piece_once(shop: Shop) -> None:
    keys = [f"step-{number:03}" for number in range(60)]
    shop.handle("count", lambda run: run.step("only", lambda: None, lambda connection, _value: _count(connection, run.item.key)))
    for key in keys:
        shop.wish(key=key)
    faults: list[Exception] = []

    def work_all(name: str) -> None:
        try:
            engine = shop.engine(name)
            while engine.work_once():
                pass
        except Exception as error:  # noqa: BLE001 - a thread hands its failure over
            faults.append(error)

    threads = [threading.Thread(target=work_all, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    engine = shop.engine("last")
    while engine.work_once():
        pass
    assert faults == []
    assert _counted(shop) == keys


def test_what_ended_long_ago_is_forgotten(shop: Shop) -> None:
    shop.handle("count", lambda run: None)
    shop.wish()
    engine = shop.engine("w1")
    engine.work_once()
    shop.wish(key="waits", due_at=shop.clock() + 10**15)
    shop.clock.pass_seconds(8 * 86_400)
    engine.attend()
    engine.prune()
    with shop.services.db.read() as connection:
        assert list(work.standing(connection, "default", "count", keys=["a", "waits"])) == ["waits"]
        assert [each.worker_id for each in claims.all_workers(connection)] == ["w1"]
