"""Properties computed once, and without a lock."""

from threading import Event, Thread

from psvm.mathematics.cached import cached_property


class Slow:
    def __init__(self):
        self.count, self.begun, self.go_on = 0, Event(), Event()

    @cached_property
    def value(self):
        """A number."""
        self.count += 1
        self.begun.set()
        assert self.go_on.wait(30.0)
        return 7 * self.count


def test_it_is_computed_once():
    slow = Slow()
    slow.go_on.set()
    assert [slow.value, slow.value, slow.count] == [7, 7, 1]
    assert Slow.value.__doc__ == "A number."


def test_nobody_waits_for_another_object():
    """Nor does a child that is forked meanwhile: there the other thread is gone."""
    first, second = Slow(), Slow()
    thread = Thread(target=lambda: first.value)
    thread.start()
    assert first.begun.wait(30.0)
    second.go_on.set()
    found = []
    other = Thread(target=lambda: found.append(second.value), daemon=True)
    other.start()
    other.join(30.0)
    assert found == [7]
    first.go_on.set()
    thread.join()
