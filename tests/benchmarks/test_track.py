"""Speed from commit to commit: ratios, kinds, judgement, and files for airspeed velocity."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import track

ENVIRONMENT = {
    "date": "2026-01-02 03:04 UTC",
    "commit": "1a2b3c4d5e-dirty",
    "cpu": "a CPU",
    "cpus": 2,
    "memory_gb": 8.0,
    "system": "Linux",
    "python": "3.11.7",
}


def record(problem, ratio, **more):
    return {
        "part": "random",
        "estimator": "PSVC",
        "problem": problem,
        "against": "defaults",
        "p": 1.0,
        "rival": "SVC",
        "seconds": 0.5,
        "rival_seconds": 0.5 * ratio,
        **more,
    }


def written(path, records):
    path.write_text(json.dumps({"environment": ENVIRONMENT, "records": records}))
    return path


def test_seconds_do_not_matter_but_ratios_do():
    slow = {"records": [record("a", 4.0)]}
    fast = {"records": [record("a", 4.0, seconds=0.01, rival_seconds=0.04)]}
    assert track.ratios_of(slow) == pytest.approx(track.ratios_of(fast))


def test_only_what_both_have_is_compared():
    before = track.ratios_of({"records": [record("a", 2.0), record("b", 8.0), record("c", 50.0)]})
    now = track.ratios_of({"records": [record("a", 1.0), record("b", 16.0), record("d", 0.01)]})
    assert track.changes(before, now) == {
        "all": (2, pytest.approx(4.0), pytest.approx(4.0)),
        "random, PSVC, p=1": (2, pytest.approx(4.0), pytest.approx(4.0)),
    }


def test_failures_and_bounds_do_not_count():
    rows = [record("a", 2.0, failed="no"), record("b", 3.0, rival_over=True), record("c", 5.0)]
    assert list(track.ratios_of({"records": rows}).values()) == [5.0]


@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (0.8, 0), (0.7, 1)])
def test_a_run_is_judged(tmp_path, capsys, factor, code):
    before = written(tmp_path / "before.json", [record(f"{k}", 3.0) for k in range(6)])
    now = written(tmp_path / "now.json", [record(f"{k}", 3.0 * factor) for k in range(6)])
    arguments = [str(now), "--before", str(before), "--fail-below", "0.75"]
    assert track.main(arguments) == code
    assert ("slower than 0.75" in capsys.readouterr().out) == bool(code)
    assert track.main([*arguments, "--fewest", "7"]) == 0
    assert track.main(arguments[:3]) == 0


def test_nothing_in_common_is_an_error(tmp_path, capsys):
    paths = [written(tmp_path / f"{name}.json", [record(name, 1.0)]) for name in "ab"]
    with pytest.raises(SystemExit):
        track.main([str(paths[0]), "--before", str(paths[1])])
    assert "no problem in common" in capsys.readouterr().err


def test_asv_gets_a_file_where_less_is_better(tmp_path):
    results = {"environment": ENVIRONMENT, "records": [record("a", 4.0)]}
    path = track.write_asv(results, tmp_path)
    assert path == tmp_path / "quick" / "1a2b3c4d5e-existing.json"
    found = json.loads(path.read_text())
    (name,) = found["results"]
    assert found["results"][name][0] == [0.25]
    assert found["date"] == 1767323040000
    assert json.loads((tmp_path / "benchmarks.json").read_text())[name]["type"] == "track"


def test_the_published_run_can_be_compared_with_itself(capsys):
    assert track.main([str(track.RESULTS / "everyday.json"), "--fail-below", "0.99"]) == 0
    assert "all" in capsys.readouterr().out
