"""What the page of the kernel suite says: ratios, targets, threads, entries, other models."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import kernel_report
from benchmarks.kernel_duels import duels
from benchmarks.kernel_targets import target_lines, targets
from benchmarks.kernel_threads import amdahl, serial_share, thread_lines


def record(rival, seconds, *, p=1.0, C=1.0, n_classes=2, predict=1.0, d=10, floor=None, above=0.0):
    clocks = {"fit_seconds": seconds, "fit_cpu_seconds": seconds, "predict_seconds": predict}
    row = {
        "case": "a",
        "C": C,
        "gamma_factor": 1.0,
        "rival": rival,
        "p": p,
        "status": "ok",
        "n_classes": n_classes,
        "n_features": d,
    }
    row |= {**clocks, "turns": [clocks], "memory_mb": 1.0, "peak_mb": 2.0, "accuracy": 0.9}
    row |= {"n_train": 100, "n_support": 5, "train_accuracy": 0.9, "gap": 5e-5}
    row |= {"primal": 100.0 * (1.0 + above), "primal_best": 100.0 * (1.0 + above), "dual": 99.995}
    return row if floor is None else row | {"floor_seconds": floor}


def ended(rival, limit, **parameters):
    row = record(rival, 1.0, **parameters)
    kept = ("case", "C", "gamma_factor", "p", "rival", "n_classes", "n_features", "n_train")
    return {key: row[key] for key in kept} | {"status": f"over {limit:g} s", "time_limit": limit}


def by_text(records):
    return {target.text: target for target in targets(records, list(duels(records)))}


def test_float32_input_is_compared_with_float32_input():
    rows = [record("psvm", 1.0), record("psvm-f32", 0.5), record("intelex-f32", 3.0)]
    rows.append(record("intelex", 8.0))
    assert {d.theirs["rival"]: d.fit for d in duels(rows)} == {"intelex-f32": 6.0, "intelex": 8.0}
    assert [duel.fit for duel in duels([rows[0], rows[2]])] == [3.0]  # psvm-f32 was not run


def test_a_ratio_counts_only_at_an_objective_that_is_as_good():
    rows = [record("psvm", 1.0, above=2e-4), record("intelex", 9.0), record("psvm", 1.0, C=2.0)]
    rows += [record("intelex", 4.0, C=2.0, above=-0.5e-4)]
    target = by_text(rows)["fit >= 10x intelex, float64 input"]
    assert [value.value for value in target.values] == [4.0]
    assert target.verdict == "**not met**"


def test_a_rival_over_its_limit_is_a_bound_and_stays_out_of_the_mean():
    rows = [record("psvm", 1.0), record("sklearn", 10.0), record("psvm", 2.0, C=2.0)]
    rows.append(ended("sklearn", 80.0, C=2.0))
    target = by_text(rows)["fit >= 15x LIBSVM (scikit-learn's SVC)"]
    assert [(v.value, v.bound) for v in target.values] == [(10.0, False), (40.0, True)]
    assert target.figure(target.measured) == pytest.approx(10.0)
    assert target.figure(target.values) == pytest.approx(20.0)
    assert target.verdict == "met if the lower bounds count"
    line = next(line for line in target_lines([target]) if "LIBSVM" in line)
    assert "| 10x |" in line
    assert "> 20x (1)" in line

    only_bounds = by_text(rows[2:])["fit >= 15x LIBSVM (scikit-learn's SVC)"]
    assert only_bounds.verdict == "met, by lower bounds only"
    rows[2]["primal"] *= 1.001  # not proven to be as good as a rival that never ended
    assert by_text(rows[2:])["fit >= 15x LIBSVM (scikit-learn's SVC)"].verdict == "not measured"


def test_no_case_may_be_slow_whatever_the_mean():
    rows = [record("psvm", 1.0), record("intelex", 90.0), record("psvm", 1.0, C=2.0, n_classes=3)]
    rows.append(record("libsvm", 1.1, C=2.0, n_classes=3))
    target = by_text(rows)["fit: no case under 2.5x"]
    assert target.verdict == "**not met**"
    assert target.worst.name == "a, C=2, p=1, libsvm"


def test_several_classes_are_compared_with_the_faster_rival():
    several = {"n_classes": 3}
    rows = [record("psvm", 1.0, **several), record("intelex", 30.0, **several)]
    rows += [record("sklearn", 5.0, **several), ended("libsvm", 4.0, **several)]
    target = by_text(rows)["fit, several classes >= 4x the faster of intelex and LIBSVM"]
    assert [value.value for value in target.values] == [5.0]
    assert target.verdict == "**met**"
    assert by_text(rows)["fit >= 15x LIBSVM (scikit-learn's SVC)"].verdict == "not measured"


def test_fits_that_take_no_time_to_speak_of_are_not_counted():
    rows = [record("psvm", 0.03), record("intelex", 0.03), record("psvm", 1.0, C=2.0)]
    rows.append(record("intelex", 12.0, C=2.0))
    assert [v.value for v in by_text(rows)["fit >= 10x intelex, float64 input"].values] == [12.0]


def test_what_threads_gain():
    rows = [record("psvm", 1.0) | {"threads": 2}, record("psvm-1-thread", 1.8)]
    rows += [record("psvm", 1.0, C=10.0) | {"threads": 2}, record("psvm-1-thread", 1.25, C=10.0)]
    rows += [record("psvm", 0.03, C=100.0) | {"threads": 2}]  # too short for threads
    rows += [record("psvm-1-thread", 0.03, C=100.0)]
    rows += [record("psvm", 1.0, p=3.0) | {"threads": 2}, record("psvm-1-thread", 1.0, p=3.0)]
    found = by_text(rows)
    mean, worst = found["all threads >= 1.6x one"], found["all threads: no fit under 1.3x one"]
    assert mean.figure(mean.values) == pytest.approx(1.5)
    assert worst.worst.value == pytest.approx(1.25)
    assert {mean.verdict, worst.verdict} == {"**not met**"}


def test_predict_and_exponents():
    rows = [record("psvm", 1.0), record("intelex", 9.0, predict=3.0)]
    rows += [record("sklearn", 9.0, predict=10.0), record("psvm", 2.0, p=2.0)]
    rows += [record("psvm", 8.0, p=1.25), record("psvm", 3.0, C=2.0, d=100)]
    found = by_text(rows)
    assert found["predict >= 2x intelex"].verdict == "**met**"
    assert found["predict >= 20x LIBSVM"].verdict == "**not met**"
    exponents = found["fit at p = 1.25, 1.5, 2, 3 <= 2x p = 1"]
    assert exponents.figure(exponents.values) == pytest.approx(4.0)
    assert exponents.worst.name == "a, C=1, p=1.25"
    assert found["no fit at these p over 4x p = 1"].verdict == "**not met**"


def test_the_page_names_where_psvm_is_not_faster():
    rows = [record("psvm", 1.0, floor=0.5), record("intelex", 0.8), record("libsvm", 20.0)]
    rows += [record("psvm", 1.0, C=2.0, above=1e-3), ended("sklearn", 40.0, C=2.0)]
    rows.append(ended("psvm", 600.0, C=3.0))
    text = "\n".join(kernel_report.lines(rows))
    part = text.split("## Where psvm is not faster")[1].split("##")[0]
    assert "| a, C=1, p=1 | intelex | 0.8x | 1x |" in part
    assert "libsvm | 20x | 1x" in part  # as fast in predict
    assert "objective 1e-03 above" in part
    assert "| a, C=3, p=1 | psvm |  |  | over 600 s |" in part
    assert "| over 40 s | > 40.0x (not counted) |" in text
    faster = [record("psvm", 1.0), record("intelex", 9.0, predict=2.0)]
    assert "Nowhere in these measurements" in "\n".join(kernel_report.lines(faster))


# --- threads, entries, other models --------------------------------------------------------------


def test_the_serial_share_is_that_of_amdahls_law():
    for share in (0.0, 0.25, 0.6, 1.0):
        assert serial_share(amdahl(share, 2), 2) == pytest.approx(share)
    assert amdahl(0.25, 8) == pytest.approx(1.0 / (0.25 + 0.75 / 8))
    assert serial_share(2.2, 2) == 0.0  # caches of two cores: no less than nothing is serial
    assert serial_share(0.7, 2) is None
    slower = [record("psvm", 2.0) | {"threads": 2}, record("psvm-1-thread", 1.5)]
    assert thread_lines(slower)[3] == "| a, C=1, p=1 | 2 | 1.5 | 0.75x | none |  |  |  |  |"


def test_the_page_tells_what_threads_gain_and_how_many_entries_are_computed():
    two = record("psvm", 1.0) | {"threads": 2, "kernel_entries": 1250}  # 100 rows, 5 vectors
    one = record("psvm-1-thread", 1.6) | {"threads": 2}
    alone = record("psvm", 3.0, C=2.0) | {"threads": 2, "kernel_entries": 2000}
    text = thread_lines([two, one, alone, record("intelex", 9.0)])
    assert text[3].startswith("| a, C=1, p=1 | 1 | 1.6 | 1.60x | 25% | 2.9x | 3.4x | 3.7x | 2.50 |")
    assert text[4] == "| a, C=2, p=1 | 3 |  |  |  |  |  |  | 4.00 |"
    assert text[2].endswith("| 3.16 |")  # of 2.5 and 4
    assert thread_lines([record("psvm", 1.0), one]) == []  # of a file from before


def test_models_of_another_kind_are_shown_beside_and_are_nobodys_rivals():
    trees = record("lightgbm", 0.1) | {"accuracy": 0.95, "memory_mb": 7.0}
    for field in ("primal", "primal_best", "dual", "gap", "train_accuracy"):
        del trees[field]
    rows = [record("psvm", 1.0), record("intelex", 9.0), trees, record("psvm", 2.0, C=2.0)]
    text = "\n".join(kernel_report.lines(rows))
    part = text.split("## Beside other models")[1].split("##")[0]
    assert "| lightgbm | 0.1 | 1 | 7 | 0.9500 |" in part
    assert "C=2" not in part
    assert "## Beside" not in "\n".join(kernel_report.lines(rows[:2]))
    late = ended("lightgbm", 5.0)
    assert [duel.theirs["rival"] for duel in duels([*rows, late])] == ["intelex"]
