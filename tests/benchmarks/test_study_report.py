"""The page of the study says what its results say."""

import re

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("autorank")
pytest.importorskip("baycomp")

from benchmarks.study import answers, findings, machines, plan, report, statistics, store


def made(gain_of_two=0.02, sets=8, repeats=2, methods=plan.METHODS):
    """Results in which p = 2 is better than p = 1 by ``gain_of_two``, more on larger sets."""
    random = np.random.default_rng(0)
    base = {"dummy": 0.5, "forest": 0.85, "lightgbm": 0.86, "lightgbm-tuned": 0.87, "svc": 0.8}
    rows = []
    for d in range(sets):
        for repeat in range(repeats):
            for method in methods:
                family, _, what = method.partition("-")
                accuracy = base.get(method, 0.8)
                support = float("nan")
                if family in ("kernel", "linear"):
                    grows = gain_of_two * (d + 1) / sets
                    accuracy = 0.8 + (
                        grows if what in ("2", "untuned-2") else grows / 2 if what == "1.5" else 0
                    )
                    support = {"1": 0.2, "1.25": 0.3, "1.5": 0.4, "2": 0.5, "3": 0.6}.get(what, 0.5)
                chosen = {"n_train": 100, "p": 2.0, "C_place": 5 * (d % 2), "gamma_place": 2}
                if method == "dummy":
                    chosen = {"rows": 100 * (d + 1), "features": 3 + d, "classes": 2}
                    chosen |= {"smallest_share": 0.5 - d / 100}
                rows.append(
                    {"dataset": f"set{d}", "repeat": repeat, "method": method}
                    | {"accuracy": accuracy, "balanced_accuracy": accuracy, "auc": accuracy}
                    | {"log_loss": 1 - accuracy, "support_share": support}
                    | {"fit_seconds": 1.0 + random.random(), "predict_seconds": 0.1}
                    | {"chosen": chosen}
                )
    return pd.DataFrame(rows)


def test_a_comparison_says_who_wins():
    rows = made(0.05)
    table = statistics.means(rows, ["kernel-2", "kernel-1"])
    (one,) = statistics.compare(table, [("kernel-2", "kernel-1")])
    sentence = findings.short(one)
    assert "Kernel, p = 2, beside kernel, p = 1: **+2.81 points**" in sentence
    assert "(8 wins, 0 ties, 0 losses on 8 sets)" in sentence
    assert "kernel, p = 2 is better by more than half a point" in sentence
    (other,) = statistics.compare(table, [("kernel-1", "kernel-2")])
    assert "0 wins, 0 ties, 8 losses" in findings.short(other)
    assert findings.line(other)["mean"] == "−2.81"
    assert findings.line(other)["counts"] == "0 / 0 / 8"
    assert findings.line(other)["p_value"] == "0.008"  # 2 of the 256 signs of eight differences


@pytest.mark.parametrize(("gain", "inside"), [(0.02, 8), (-0.02, 0)])
def test_the_papers_sentence_about_p_is_judged(gain, inside):
    sentence = findings.best_exponents(made(gain), "kernel")
    assert f"in [1.25, 2] on {inside} of 8 sets" in sentence


def test_support_vectors_that_grow():
    rows = made()
    assert "grows from each p to the next on 8 sets" in findings.support_vectors(rows)
    assert "20 % at p = 1," in findings.support_vectors(rows)
    rows["support_share"] = 1 - rows["support_share"]
    assert "on 0 sets" in findings.support_vectors(rows)


def test_the_check_by_svc_counts_splits():
    rows = made()
    own = (rows["method"] == "svc") & (rows["dataset"] == "set3") & (rows["repeat"] == 0)
    rows.loc[own, "accuracy"] += 0.01
    sentence = findings.svc_check(rows)
    assert "On 16 splits" in sentence
    assert "the same test accuracy on 15" in sentence
    assert "the largest −1.00" in sentence


def test_edges_of_the_grid_and_stopped_searches():
    rows = made()
    assert "2 on 100 %" in findings.edges(rows)
    assert "C is the lowest of its grid on 50 % and the highest on 50 %" in findings.edges(rows)
    assert "gamma is the lowest of its grid on 0 % and the highest on 0 %" in findings.edges(rows)
    assert findings.unfinished(rows).startswith("0 of")
    rows.at[0, "chosen"] = {"unfinished": 3}
    assert findings.unfinished(rows).startswith("1 of")


def test_a_fall_at_the_largest_p():
    assert "falls on 8 of 8 sets" in findings.overfitting(made(0.1))
    assert "rises on 0" in findings.overfitting(made(0.1))
    assert "within 0.05 points on 8" in findings.overfitting(made(0.0))
    assert set(findings.of_the_paper(made())) == {"best_exponent", "support_vectors", "overfitting"}


def test_three_sentences_have_the_numbers():
    text = answers.in_three_sentences(made(0.08))
    # p = 1.5 has half of the gain of p = 2 if tuned, and none if not.
    assert "On 8 real tables p = 1.5 has a higher test accuracy than p = 1 on 0" in text
    assert f"on 8 and 0 with C and gamma tuned ({100 * 0.04 * 4.5 / 8:+.2f})" in text
    assert "ahead of LightGBM on 0 tables and behind on 8 (−6.00 points)" in text
    assert "tuned for as long on 0 and 8 (−7.00)" in text


def test_four_questions_are_answered():
    found = answers.answers(made(0.08))
    assert [answer.question for answer in found] == [
        "Should I use p?",
        "Which one?",
        "What do I gain by choosing it?",
        "When boosting instead?",
    ]
    assert all(answer.sentences for answer in found)
    assert answers.bullets(found).count("*Opinion:*") == 4
    assert answers.bullets(found).count("\n  - ") == sum(len(one.sentences) for one in found)
    assert answers.answers(made(methods=("dummy", "knn"))) == []


def test_a_place_is_filled_and_nothing_else(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- study: a -->\nold\n<!-- end -->\nbetween\n<!-- study: b -->\n<!-- end -->"
    )
    text = answers.fill(page, "a", r"new \1")
    assert text.startswith("before\n<!-- study: a -->\n\nnew \\1\n\n<!-- end -->\nbetween")
    page.write_text(text)
    assert answers.fill(page, "a", r"new \1") == text
    with pytest.raises(ValueError, match="page\\.md must have one place"):
        answers.fill(page, "c", "")


def test_pages_are_what_the_results_say(tmp_path):
    """Change the template or the results, and python -m benchmarks.study.report writes them."""
    if not store.RESULTS.exists():
        pytest.skip("the study has not been run")
    rows = store.read(store.RESULTS)
    assert report.PAGE.read_text(encoding="utf-8") == report.render(
        report.complete(rows, tmp_path, store.RESULTS.parent)
    )
    for path, text in report.elsewhere(rows).items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_the_gain_grows_with_the_rows():
    first = findings.effect_sentences(made(0.05), "kernel-2", "kernel-1")[0]
    assert first.startswith("Rows: +")
    assert "Spearman +1.00" in first
    assert "Holm: significant" in first


def test_every_method_has_a_name():
    assert len({findings.spelled(method) for method in plan.METHODS}) == len(plan.METHODS)


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "study.csv"
    store.prepare(path)
    for row in made().to_dict("records"):
        store.append(path, row)
    page = tmp_path / "docs" / "study.md"
    assert report.main(["--results", str(path), "--output", str(page)]) == 0
    return page


def test_the_page_has_its_parts_and_its_pictures(written):
    text = written.read_text(encoding="utf-8")
    for heading in (
        "In short",
        "Should I use p",
        "Linear machines",
        "Where does it pay",
        "When boosting",
    ):
        assert f"\n## {heading}" in text
    named = re.findall(r"\]\((images/[^)]*)\)", text)
    assert len(named) == 5
    for picture in named:
        assert (written.parent / picture).stat().st_size > 5000
    assert "This is a part of the study: 8 of 71 sets" in text
    tables = re.findall(r"(?:^\|.*\n)+", text, re.M)
    assert len(tables) == 8
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1, table
    assert "nan" not in text
    assert "None" not in text
    assert "\n\n\n" not in text


def test_results_that_lack_a_part_leave_it_out(tmp_path):
    few = made(methods=("dummy", "lightgbm", "kernel-best", "kernel-1"))
    text = report.render(report.gather(few, tmp_path))
    assert "## Should I use p" not in text
    assert "When boosting" in text
    assert "GridSearchCV(SVC) over" not in text


def test_without_results_there_is_no_page(tmp_path, capsys):
    page = tmp_path / "study.md"
    words = ["--results", str(tmp_path / "none.csv"), "--output", str(page)]
    assert report.main(words) == 2
    assert "run python -m benchmarks.study first" in capsys.readouterr().err
    store.prepare(tmp_path / "none.csv")
    assert report.main(words) == 2
    assert not page.exists()


def test_all_the_rules_are_on_the_page(written):
    text = written.read_text(encoding="utf-8").lower()
    for choice in machines.CHOICES:
        assert findings.spelled(f"kernel-{choice}") in text
