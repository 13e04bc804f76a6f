"""One BLAS thread while anybody wants it, and afterwards what was there before."""

from threading import Event, Thread

import pytest
from processes import UNIX, output
from threadpoolctl import threadpool_info, threadpool_limits

from psvm.solvers.blas_threads import one_blas_thread


def blas_threads():
    """Of those that have threads at all."""
    found = [one for one in threadpool_info() if one["user_api"] == "blas"]
    return {one["num_threads"] for one in found if one.get("threading_layer") != "disabled"}


@pytest.fixture(autouse=True)
def two_threads():
    """A limit that is not 1, to see it go and come back."""
    with threadpool_limits(limits=2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has a single thread")
        yield


def test_inside_one_and_afterwards_as_before():
    with one_blas_thread():
        assert blas_threads() == {1}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_an_error_restores_the_limit():
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert blas_threads() == {2}


def test_the_last_of_two_threads_restores_the_limit():
    """The first to enter leaves first: the other still has its single thread."""
    inside, leave = Event(), Event()
    seen = []

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(30.0)
            seen.append(blas_threads())

    with one_blas_thread():
        thread = Thread(target=other)
        thread.start()
        assert inside.wait(30.0)
    assert blas_threads() == {1}
    leave.set()
    thread.join()
    assert seen == [{1}]
    assert blas_threads() == {2}


@UNIX
def test_a_child_forked_while_another_thread_sets_the_limit():
    """The lock that thread held was never released in the child, which waited forever."""
    found = output(
        """
        import os, threading
        import numpy
        from threadpoolctl import threadpool_info
        from psvm.solvers import blas_threads

        def counts():
            return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

        before = counts()
        inside, leave = threading.Event(), threading.Event()

        def other():
            with blas_threads.one_blas_thread(), blas_threads._lock:
                inside.set()
                leave.wait(30)

        thread = threading.Thread(target=other)
        thread.start()
        inside.wait(30)
        child = os.fork()
        if child == 0:
            with blas_threads.one_blas_thread():
                one = counts() == {1}
            os._exit(0 if one and counts() == before else 3)
        status = os.waitpid(child, 0)[1]
        leave.set()
        thread.join()
        print(os.waitstatus_to_exitcode(status))
        """,
        timeout=30,
    )
    assert found.strip() == "0"
