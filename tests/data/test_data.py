"""The data sets as the paper has them: parsed from their original layout, labelled and scaled."""

import subprocess
import sys

import numpy as np
import paper_data
import pytest
from messages import assert_mentions

from psvm import data
from psvm.data import sources

# --- parsing the layouts of UCI ------------------------------------------------------------------


def parse(name, text):
    return sources.SOURCES[name].origin.parse(text.encode())


def test_heart_is_separated_by_blanks():
    X, y = parse("heart", "70.0 1.0 4.0 2.4 3.0 2 \n67.0 0.0 3.0 1.6 7.0 1 \n")
    assert X.tolist() == [[70.0, 1.0, 4.0, 2.4, 3.0], [67.0, 0.0, 3.0, 1.6, 7.0]]
    assert y.tolist() == [2, 1]


def test_ionosphere_has_letters_as_labels():
    X, y = parse("ionosphere", "1,0,0.99539,-0.05889,g\n1,0,1,-0.18829,b\n")
    assert X.tolist() == [[1.0, 0.0, 0.99539, -0.05889], [1.0, 0.0, 1.0, -0.18829]]
    assert y.tolist() == ["g", "b"]


def test_wine_has_a_header_and_semicolons():
    X, y = parse("wine", '"fixed acidity";"pH";"quality"\r\n7.4;3.51;5\r\n7.8;3.2;8\r\n')
    assert X.tolist() == [[7.4, 3.51], [7.8, 3.2]]
    assert y.tolist() == [5, 8]


def test_banknote_ends_without_a_line_break():
    X, y = parse("banknote", "3.6216,8.6661,-2.8073,-0.44699,0\r\n-1.5,0.1,2e-3,1,1")
    assert X.tolist() == [[3.6216, 8.6661, -2.8073, -0.44699], [-1.5, 0.1, 0.002, 1.0]]
    assert y.tolist() == [0, 1]


def test_glass_loses_its_row_numbers():
    X, y = parse("glass", "1,1.52101,13.64,1\n214,1.51711,14.23,7\n")
    assert X.tolist() == [[1.52101, 13.64], [1.51711, 14.23]]
    assert y.tolist() == [1, 7]


def test_vehicle_has_words_as_labels():
    X, y = parse("vehicle", "95 48 83 van \n91 41 84 saab \n\n")
    assert X.tolist() == [[95.0, 48.0, 83.0], [91.0, 41.0, 84.0]]
    assert y.tolist() == ["van", "saab"]


def test_dermatology_loses_rows_without_an_age():
    X, y = parse("dermatology", "2,2,55,2\n3,1,?,1\n0,0,26,3\n")
    assert X.tolist() == [[2.0, 2.0, 55.0], [0.0, 0.0, 26.0]]
    assert y.tolist() == [2, 3]


def test_a_ragged_row_is_no_set():
    with pytest.raises(ValueError):
        parse("heart", "1.0 2.0 1\n1.0 2.0 3.0 1\n")


# --- loading ------------------------------------------------------------------------------------

SHAPES = {
    "cancer": (569, 30),
    "heart": (270, 13),
    "ionosphere": (351, 34),
    "wine": (6497, 11),
    "banknote": (1372, 4),
    "glass": (214, 9),
    "vehicle": (845, 18),
    "dermatology": (358, 34),
    "usps": (9298, 256),
}
# Rows labelled +1, from the class counts that UCI gives.
POSITIVE = {"cancer": 357, "heart": 120, "ionosphere": 225, "wine": 4113, "banknote": 610}


@pytest.mark.parametrize("name", data.NAMES)
def test_load_gives_the_set_of_the_paper(name):
    paper_data.require(name)
    X, y = data.load(name)
    assert X.shape == SHAPES[name]
    assert X.dtype == np.float64
    if name in POSITIVE:
        assert sorted(set(y.tolist())) == [-1, 1]
        assert np.count_nonzero(y == 1) == POSITIVE[name]
    else:
        assert dict(zip(*np.unique(y.astype(str), return_counts=True), strict=True)) == dict(
            sources.SOURCES[name].counts
        )
    constant = np.ptp(X, axis=0) == 0.0
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(X.std(axis=0)[~constant], 1.0, atol=1e-10)
    assert np.count_nonzero(constant) == (1 if name == "ionosphere" else 0)


def test_unscaled_values_are_those_of_the_source():
    paper_data.require("heart")
    X, y = data.load("heart", scaled=False)
    assert X[0].tolist() == [70, 1, 4, 130, 322, 0, 2, 109, 0, 2.4, 2, 3, 3]
    assert y[:3].tolist() == [1, -1, 1]


def test_usps_in_single_precision_gets_its_three_decimals_back():
    paper_data.require("usps")
    X, _ = data.load("usps", scaled=False)
    assert X[0, 6:10].tolist() == [-1.0, -0.631, 0.862, -0.167]


def test_wine_is_known_by_two_names():
    paper_data.require("wine")
    X, y = data.load("wine")
    again, labels = data.load("wine_quality")
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError) as caught:
        data.load("iris")
    assert_mentions(str(caught.value), "'iris'", *data.NAMES)


def test_importing_needs_no_optional_package():
    program = (
        "import sys; import psvm.data; "
        "print([m for m in ('pooch', 'requests', 'matplotlib') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.stdout.strip() == "[]", answer.stderr
