"""The report says what the rows say, and its two files stand on their own."""

import re
from html.parser import HTMLParser

import fake_proportions
import pytest
from fake_figures import SVG, compute
from fake_tables import row

from psvm.paper import claims, findings, published, report, study
from psvm.paper.cells import is_met

RUN = {
    "command": "psvm reproduce all",
    "quick": False,
    "seconds": 12.0,
    "computed": 3,
    "reused": 4,
    "processes": 2,
    "failures": [],
    "warnings": {},
    "totals": {"table1": 0, "table2": 0},
}


def machine(dataset, p, accuracy, nsv=50.0, *, variant="published", kernel="exponential", **values):
    cells = published.table1()
    cell = next(c for c in cells if c.dataset == dataset and c.p == pytest.approx(p))
    return row(
        **{
            "dataset": dataset,
            "method": "pSVM",
            "variant": variant,
            "kernel": kernel,
            "p": cell.p,
            "C_best": cell.C_best,
            "C_cv": cell.C_best,
            "accuracy_percent": accuracy,
            "nsv_percent": nsv,
            "published_accuracy_percent": cell.accuracy_percent,
            "published_nsv_percent": cell.nsv_percent,
            "n_train": cell.n_train,
            "n_test": cell.n_test,
            "seconds": 1.0,
            **values,
        }
    )


def other(dataset, method, accuracy, printed, *, variant="rerun", n_test=100, **values):
    return row(
        **{
            "dataset": dataset,
            "method": method,
            "variant": variant,
            "C_best": 1.0,
            "accuracy_percent": accuracy,
            "published_accuracy_percent": printed,
            "n_train": 400,
            "n_test": n_test,
            "seconds": 1.0,
            **values,
        }
    )


# --- sentences -----------------------------------------------------------------------------------


def test_counts_follow_the_rows():
    rows = [
        machine("cancer", 1.5, 97.66, nsv=31.7),
        machine("cancer", 2.0, 97.75, nsv=31.0),  # 0.09 away, nSV 3.9
        machine("wine", 2.0, 75.0, nsv=91.7),  # 0.63 away
    ]
    accuracies, support, C = findings.summary(rows, [])
    assert "2 of 3 pSVM accuracies come within 0.11 points" in accuracies
    assert "1 of them to the last digit" in accuracies
    assert "0.63 points (Wine, p = 2.00)" in accuracies
    assert "2 of 3 percentages within 3.5 points" in support
    assert "3.90 points (Cancer, p = 2.00)" in support
    assert "in 3 of 3 cells" in C
    groups = {group.title: group.cells for group in findings.not_reproduced(rows, [], [])}
    assert groups == {
        "pSVM accuracies of Table 1 more than 0.11 points away": [
            "Wine, p = 2.00: paper 75.63, here 75.00 (−0.63)"
        ],
        "nSV percentages more than 3.5 points away": ["Cancer, p = 2.00: paper 34.9, here 31.0"],
    }


def test_another_C_is_told_but_does_not_count_as_a_difference():
    rows = [machine("cancer", 1.5, 97.66, nsv=31.7, C_cv=1.0)]
    assert "in 0 of 1 cells" in findings.summary(rows, [])[2]
    (group,) = findings.not_reproduced(rows, [], [])
    assert group.cells == ["Cancer, p = 1.50: paper 5, here 1"]


@pytest.mark.parametrize(
    ("cell", "met"),
    [
        (machine("cancer", 2.0, 97.66 + 0.11), True),
        (machine("cancer", 2.0, 97.66 + 0.12), False),
        (other("cancer", "RF", 95.0, 95.9), True),
        (other("cancer", "RF", 95.0, 96.1), False),
        (other("glass", "2L", 79.07, 76.7, variant="published", n_test=43), True),
        (other("glass", "2L", 79.07, 76.5, variant="published", n_test=43), False),
        (other("usps", "OvR", 88.7, 88.8, n_test=1860), True),
        (other("usps", "OvR", 88.7, 88.9, n_test=1860), False),
    ],
)
def test_what_counts_as_met(cell, met):
    assert is_met(cell) is met


def test_rivals_higher_than_quoted():
    rows = [
        other("glass", "OvR", 70.0, 65.6),
        other("glass", "OvO", 68.54, 68.5),  # the same in print
        other("glass", "M-SVM", 60.0, 62.9),
        other("glass", "CappedSVM", 60.0, None),
    ]
    (sentence,) = findings.summary([], rows)
    assert "1 of 3 come out higher" in sentence
    (group,) = findings.not_reproduced([], rows, [("glass Top-k", "no data")])[:1]
    assert [cell.split(":")[0] for cell in group.cells] == ["Glass, OvR", "Glass, M-SVM"]
    assert findings.not_reproduced([], [], [("glass Top-k", "no data")])[0].cells == [
        "glass Top-k: no data"
    ]


def test_how_far_from_the_optimum_psmo_stops():
    rows = [
        other("glass", "2L", 76.7, 76.7, variant="published", gap=0.25),
        other("glass", "1.5L", 74.4, 74.4, variant="published", gap=0.0625),
        other("glass", "2L", 70.0, 76.7, variant="exact", gap=1e-6),
    ]
    accuracies, gaps = findings.summary([], rows)
    assert "2 of 2 accuracies within one test row" in accuracies
    assert "between 0.062 and 0.25" in gaps


def test_kernel_evidence_compares_at_the_same_C():
    rows = [
        machine("cancer", 1.5, 97.66, nsv=31.7),
        machine("cancer", 2.0, 97.66, nsv=34.7),
        machine("cancer", 1.5, 97.0, nsv=21.7, variant="exact", kernel="rbf"),
        machine("cancer", 2.0, 97.0, nsv=24.9, variant="exact", kernel="rbf", C_best=1.0),
    ]
    sentence = findings.kernel_evidence(rows)
    assert "over the 1 cells" in sentence
    assert "0.0 points" in sentence
    assert "10.0 points with the Gaussian" in sentence
    assert findings.kernel_evidence(rows[:2]) is None


def claim(rows1, rows2, start):
    found = [c for c in claims.claims(rows1, rows2) if c.statement.startswith(start)]
    return found[0].findings if found else []


@pytest.mark.parametrize(
    ("baseline", "side"),
    [
        (90.0, "ahead of every baseline on Heart"),
        (92.0, "level with the best one on Heart"),
        (93.0, "behind on Heart"),
    ],
)
def test_the_best_method_is_the_one_with_the_best_row(baseline, side):
    rows = [
        machine("heart", 1.25, 92.0),
        machine("heart", 2.0, 91.0),
        other("heart", "NB", baseline, 83.95),
        other("heart", "DT", 50.0, 72.47),
    ]
    assert claim(rows, [], "pSVM has the best")[0].endswith(f"{side}.")
    level = int(baseline < 91.5)
    assert f"{level} of 1 published models" in claim(rows, [], "pSVM has the best")[1]


def test_support_vectors_are_followed_from_p_to_p():
    rows = [
        machine("cancer", p, 97.0, nsv=nsv)
        for p, nsv in ((3.0, 40.0), (1.25, 30.0), (1.5, 29.0), (2.0, 35.0))
    ]
    finding, beside = claim(rows, [], "The number of support vectors")
    assert beside == study.sentences()["support_vectors"]
    # C is 5 up to p = 2 and 10 at p = 3.
    assert "2 of 3 steps (1 of 2 where C stays the same)" in finding


def test_a_fall_at_the_largest_p_is_counted():
    rows = [machine("heart", p, a) for p, a in ((3.0, 80.0), (1.25, 70.0), (2.0, 85.0))]
    rows += [machine("wine", p, a) for p, a in ((2.0, 75.0), (3.0, 75.2))]
    rows += [machine("cancer", 2.0, 97.0)]
    finding, beside = claim(rows, [], "A larger p")
    assert "last p but one to the last on 1 of 2 data sets, and rises on 1" in finding
    assert beside == study.sentences()["overfitting"]
    assert claim([], [], "A larger p") == []


def test_the_best_p_and_its_ties():
    rows = [
        machine("heart", p, a) for p, a in ((1.0, 80.0), (1.25, 85.0), (1.5, 85.0), (3.0, 70.0))
    ]
    rows += [machine("wine", p, 75.0) for p in (1.0, 1.25, 1.5, 3.0)]
    finding, beside = claim(rows, [], "Accuracy rises")
    assert beside == study.sentences()["best_exponent"]
    assert "every best p lies in [1.25, 2] on Heart (1.25, 1.50)" in finding
    assert "not so on Wine (4 values tie, from 1.00 to 3.00)" in finding
    assert "Heart 15.00, Wine 0.00" in finding


def test_hard_and_soft_margin_are_compared_with_one_kernel():
    rows = [
        machine("heart", 1.0, 80.0),
        machine("heart", 1.0, 82.0, variant="exact"),
        machine("heart", 1.0, 70.0, variant="exact", kernel="rbf"),
    ]
    (finding,) = claim(rows, [], "At p = 1")
    assert "less accurate than the soft one on 1 of 1" in finding
    assert "Heart 80.00 and 82.00" in finding


def test_against_a_rival_as_printed_and_as_run():
    rows = [
        other("glass", "2L", 79.0, 76.7, variant="published"),
        other("glass", "2L", 70.0, 76.7, variant="exact"),
        other("glass", "M3SVM", 79.0, 74.4),
    ]
    printed, rerun, optimum = claim([], rows, "pSMO surpasses")
    assert "ahead in 1, level in 0, behind in 0 of 1" in printed
    assert "ahead in 0, level in 1, behind in 0 of 1" in rerun
    assert "ahead in 0, level in 0, behind in 1 of 1" in optimum
    assert claim([], rows, "One-vs-one") == []


def test_the_bound_is_judged_by_its_numbers():
    sentence = findings.bound_finding(
        [
            {"p": 1.0, "total": 0.9, "test_error": 0.25},
            {"p": 2.0, "total": 1.5, "test_error": 0.125},
        ]
    )
    assert "between 0.90 and 1.50, and is vacuous for 1 of 2 p" in sentence
    assert "smallest at p = 1.00, where the test error is 0.250" in sentence


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (report.number(None), "–"),
        (report.number(-0.5, 1), "−0.5"),
        (report.signed(0.004), "0.00"),
        (report.signed(-0.004), "0.00"),
        (report.signed(-0.016), "−0.02"),
        (report.signed(1.25), "+1.25"),
        (report.price(0.5), "0.5"),
        (report.price(float("inf")), "∞"),
    ],
)
def test_numbers_are_written_for_a_reader(shown, expected):
    assert shown == expected


# --- the files -----------------------------------------------------------------------------------


class Page(HTMLParser):
    """Collects what the tests ask about, and checks that tags are closed in order."""

    VOID = ("meta", "img", "br", "hr", "link")

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources, self.tags, self.open = [], [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if "href" in attributes:
            self.links.append(attributes["href"])
        if "src" in attributes:
            self.sources.append(attributes["src"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def written(tmp_path):
    for name in ("figure1", "figure2"):
        (tmp_path / f"{name}.svg").write_text(SVG)
    tables = {
        "table1": [
            machine("cancer", 1.0, 97.66, nsv=31.2, note="hard margin"),
            machine("cancer", 1.5, 97.66, nsv=20.0),
            machine("cancer", 1.5, 98.0, variant="exact", kernel="rbf", note="a < b & c"),
            other("cancer", "SVM", 97.0, 97.66, note="C by cross-validation"),
        ],
        "table2": [
            other("glass", "2L", 79.07, 76.7, variant="published", n_test=43, p=2.0),
            other("glass", "2L", 72.09, 76.7, variant="exact", n_test=43, p=2.0),
            other("glass", "CappedSVM", 60.0, None, n_test=43),
        ],
    }
    run = {
        **RUN,
        "failures": [("table2 usps OvR", "no data | no network")],
        "warnings": {"table1/x": ["ConvergenceWarning: <slow>"]},
        "totals": {"table1": 10, "table2": 3},
    }
    proportions = [fake_proportions.compute(name, "heart") for name in ("MeanMap", "conv-∝SVM")]
    paths = report.write(
        tmp_path, tables, bounds=[compute("cancer")], run=run, proportions=proportions
    )
    assert [path.name for path in paths] == ["report.html", "report.md"]
    return tuple(path.read_text(encoding="utf-8") for path in paths)


def test_the_page_needs_nothing_but_itself(written):
    page = Page(written[0])
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert len(page.sources) == 2
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.sources)
    assert "@import" not in written[0]
    assert "url(" not in written[0]


def test_the_contents_lead_to_every_section(written):
    page = Page(written[0])
    assert len(page.ids) == len(set(page.ids))
    assert page.links
    for link in page.links:
        assert link.removeprefix("#") in page.ids
    for name in (
        "short",
        "table1",
        "table2",
        "figures",
        "proportions",
        "bound",
        "verdict",
        "errata",
        "run",
    ):
        assert f"#{name}" in page.links


def test_tables_scroll_in_their_own_box(written):
    html = written[0]
    assert html.count("<table") == html.count('<div class="scroll"')


@pytest.mark.parametrize("kind", [0, 1], ids=["html", "md"])
def test_both_files_say_the_same(written, kind):
    text = written[kind]
    for words in (
        "2 of 2",  # accuracies met
        "4 of 10 cells of Table 1",
        "97.66",
        "98.00",
        "+2.4",
        "CappedSVM",
        "no data | no network",
        "psvm reproduce all",
        "12 s; 3 results computed, 4 taken from earlier runs",
        "Figure 2",
        "The kernel of Table 1 is not Gaussian",
        "vacuous for 2 of 2 p",
        "bags of 64",
        "conv-∝SVM",
        "79.5 (60.0 to 81.0)",
    ):
        assert words in text


def test_what_the_rows_say_is_text_and_not_markup(written):
    assert "a &lt; b &amp; c" in written[0]
    assert "&lt;slow&gt;" in written[0]


def test_markdown_tables_are_whole(written):
    tables = re.findall(r"(?:^\|.*\n)+", written[1], re.M)
    assert len(tables) >= 6
    for table in tables:
        columns = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(columns) == 1, table


def test_nothing_at_all_is_still_a_report(tmp_path):
    report.write(tmp_path, {"table1": [], "table2": []}, bounds=[], run=RUN)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "table1" not in page.ids
    assert "No cell that was run lies outside" in (tmp_path / "report.md").read_text()
