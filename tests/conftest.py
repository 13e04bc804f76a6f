"""Hypothesis is repeatable and has no deadline: the machine that runs the tests is a shared one."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "psvm",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("psvm")
