"""A step on a worker: its state travels, its sums add up, and what is gone is said to be gone."""

import pickle
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

distributed = pytest.importorskip("distributed")

from psvm.dask import step as module  # noqa: E402
from psvm.dask.blocks import Block  # noqa: E402
from psvm.dask.step import Answer, Setup, ShardState, Support, Ticket, add_sums, step  # noqa: E402
from psvm.dask.targets import Classes  # noqa: E402
from psvm.mathematics.loss import PNormHinge  # noqa: E402
from psvm.mathematics.problem import LinearProblems, Terms  # noqa: E402
from psvm.solvers.linear.passes import BlockPasses, Gram, Keep, Pass  # noqa: E402

SIGNS = np.array([[-1, 1]], dtype=np.int8)
ENCODER = Classes(np.array([0, 1]), np.ones(2), 0.5)
W = np.array([0.3, -0.2, 0.1])


class Memory:
    """Stands for a worker: results by key."""

    address = "here"

    def __init__(self):
        self.data = {}


@pytest.fixture
def worker(monkeypatch):
    memory = Memory()
    monkeypatch.setattr(module, "get_worker", lambda: memory)
    monkeypatch.setattr(module, "_on_loop", lambda worker, call: worker.data.get(call.args[1]))
    return memory


def blocks(sizes=(40, 25)):
    rng = np.random.default_rng(0)
    return [
        Block(k, rng.normal(size=(n, 3)), rng.integers(0, 2, n), rng.uniform(0.5, 1.5, n))
        for k, n in enumerate(sizes)
    ]


def setup(p=1.5):
    return Setup(ENCODER, SIGNS, Terms(PNormHinge(p), True, False), None)


def begin(centre="zero"):
    return Pass("begin", 1.0, W, 0.1, centre=centre)


def run(worker, number, orders, rows, setup_=None, previous=None, shard=0):
    ticket = Ticket(shard, number, previous, tuple(range(len(rows))))
    answer = step(ticket, setup_, {0: orders}, *rows)
    worker.data[f"step{number}"] = answer
    return answer


def test_steps_are_the_passes_of_one_machine(worker):
    rows = blocks()
    priced = [ENCODER.rows(one.y, one.weight) for one in rows]
    problems = LinearProblems(
        SIGNS,
        np.concatenate([one.codes for one in priced]),
        np.concatenate([one.cost for one in priced]),
        PNormHinge(1.5),
    )
    local = BlockPasses([one.X for one in rows], problems, [0], 1)
    first = run(worker, 1, [begin()], rows, setup()).sums.values[0][0]
    here = local.answer({0: begin()})[0]
    assert first.loss == here.loss
    assert np.array_equal(first.dual.image, here.dual.image)
    move = Pass("move", 1.0, -W, 0.2)
    second = run(worker, 2, [move, Gram()], rows, previous="step1").sums.values[0]
    assert second[0].loss == local.answer({0: move})[0].loss
    assert np.array_equal(second[1], local.answer({0: Gram()})[0])


def test_a_state_that_travelled_is_the_same(worker):
    """Spilled or sent: pickled and back, between any two steps."""
    rows = blocks()
    run(worker, 1, [begin(), Keep(False, (0.5, 1.0))], rows, setup())
    travelled = pickle.loads(pickle.dumps(worker.data["step1"], protocol=5))
    worker.data["copy"] = travelled
    move = Pass("move", 1.0, -W, 0.2, linearise=True)
    certify = Pass("certify", direction=W, b=0.0)
    one = run(worker, 2, [move, certify], rows, previous="step1").sums.values[0]
    other = run(worker, 2, [move, certify], rows, previous="copy").sums.values[0]
    assert one[0].loss == other[0].loss
    assert np.array_equal(one[0].linearised.image, other[0].linearised.image)
    assert one[1].terms == other[1].terms
    size = travelled.state.__sizeof__()
    assert 65 * 8 * 5 < size < 65 * 8 * 12


def test_a_state_that_is_gone_is_lost_and_built_anew(worker):
    rows = blocks()
    lost = run(worker, 2, [Gram()], rows, previous="nowhere")
    assert lost.state is None
    assert lost.sums.lost == {0}
    again = run(worker, 3, [begin("keep")], rows, setup(), previous="nowhere")
    # The centre is that of the slack at the margins given.
    fresh = run(worker, 1, [begin("slack")], rows, setup())
    assert again.sums.lost == set()
    assert again.sums.values[0][0].loss == fresh.sums.values[0][0].loss
    assert np.array_equal(again.state.passes.present_alpha(0), fresh.state.passes.present_alpha(0))
    # But it keeps no alpha to certify.
    certify = Pass("certify", direction=W, b=0.0)
    assert run(worker, 4, [certify], rows, previous="step3").sums.lost == {0}


def test_a_state_is_taken_over_once(worker):
    rows = blocks()
    run(worker, 1, [begin()], rows, setup())
    run(worker, 2, [Gram()], rows, previous="step1")
    assert run(worker, 2, [Gram()], rows, previous="step1").sums.lost == {0}  # once more
    assert run(worker, 9, [Gram()], rows, previous="step2").sums.lost == {0}  # not the next


def test_a_step_has_one_blas_thread(worker, monkeypatch):
    """Every thread of a worker runs one step."""
    seen = []

    def look(*_):
        seen.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")

    monkeypatch.setattr(module, "_answer", look)
    with threadpool_limits(2, "blas"):
        run(worker, 1, [begin()], blocks(), setup())
    assert seen
    assert set(seen) == {1}


def test_a_state_on_another_worker_is_fetched(client):
    """A step that Dask has moved to another worker takes the state with it, at once."""
    rows = blocks()
    first, second = sorted(client.scheduler_info()["workers"])
    ticket = Ticket(0, 1, None, (0, 1))
    one = client.submit(step, ticket, setup(), {0: [begin()]}, *rows, workers=[first], key="one-0")
    distributed.wait(one, timeout=30)
    ticket = Ticket(0, 2, one.key, (0, 1))
    began = time.monotonic()
    moved = client.submit(step, ticket, None, {0: [Gram()]}, *rows, workers=[second], pure=False)
    sums = client.submit(lambda answer: answer.sums, moved, pure=False).result(timeout=60)
    assert time.monotonic() - began < 10
    assert sums.lost == set()
    assert sums.where == {0: second}
    # What is nowhere is lost, at once.
    ticket = Ticket(0, 3, "nowhere", (0, 1))
    gone = client.submit(step, ticket, None, {0: [Gram()]}, *rows, pure=False)
    lost = client.submit(lambda answer: answer.sums.lost, gone, pure=False).result(timeout=60)
    assert lost == {0}
    assert time.monotonic() - began < 10


def test_what_breaks_a_step_names_the_partitions_and_spoils_the_state(worker):
    rows = blocks()
    run(worker, 1, [begin()], rows, setup())
    with pytest.raises(RuntimeError, match="partition 0, 1: ValueError"):
        run(worker, 2, [Pass("move", 1.0, np.ones(7))], rows, previous="step1")
    assert run(worker, 2, [Gram()], rows, previous="step1").sums.lost == {0}


def test_sums_of_shards_do_not_change_what_they_add_up(worker):
    parts = [
        run(worker, 1, [begin(), Gram(), Support()], [one], setup(), shard=k)
        for k, one in enumerate(blocks())
    ]
    whole = run(worker, 1, [begin(), Gram(), Support()], blocks(), setup()).sums.values[0]
    for _ in range(2):  # a task may run twice
        total = add_sums(*parts)
        assert total.values[0][0].loss == pytest.approx(whole[0].loss, rel=1e-14)
        assert total.values[0][1] == pytest.approx(whole[1], rel=1e-12)
        assert np.array_equal(total.values[0][2], whole[2])
    assert total.where == {0: "here", 1: "here"}
    lost = Answer(None, module.ShardSums({}, {0}, {2: "there"}))
    assert add_sums(parts[0], lost).lost == {0}


@pytest.mark.parametrize(
    ("p", "hard", "centre"),
    [(1.0, False, "half_cost"), (1.5, False, "slack"), (2.0, False, "zero"), (1.5, True, "zero")],
)
def test_the_centre_of_rows_that_lost_theirs(p, hard, centre):
    assert Setup(ENCODER, SIGNS, Terms(PNormHinge(p), True, hard), None).new_centre == centre


def test_an_empty_state_has_the_rows_that_take_part():
    state = ShardState.new(setup(), blocks((30, 20)))
    assert [share[0].count for share in state.passes.shares] == [30, 20]
