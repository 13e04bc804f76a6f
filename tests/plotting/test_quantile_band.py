"""Bands of quantiles: over one feature, over sorted rows, as bars."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_data import curve

from psvm import PSVRQuantiles, psvm_quantiles
from psvm.plotting import QuantileBandDisplay


def draw(*given, **options):
    return QuantileBandDisplay.from_estimator(*given, ax=Figure().subplots(), **options)


def edges(band):
    """Lowest and highest point of a band at every x."""
    points = band.get_paths()[0].vertices
    return points[:, 1].min(), points[:, 1].max()


def test_over_the_only_feature():
    X, y = curve(80, d=1)
    model = psvm_quantiles(X, y, (0.05, 0.25, 0.5, 0.75, 0.95), C=10.0)
    display = draw(model, X, y)
    predicted = model.predict(X)
    wide, narrow = display.bands_
    assert edges(wide) == pytest.approx((predicted[:, 0].min(), predicted[:, 4].max()))
    assert edges(narrow) == pytest.approx((predicted[:, 1].min(), predicted[:, 3].max()))
    (line,) = display.lines_
    order = np.argsort(X[:, 0])
    assert np.array_equal(line.get_xdata(), X[order, 0])
    assert np.array_equal(line.get_ydata(), predicted[order, 2])
    assert np.array_equal(np.asarray(display.points_.get_offsets())[:, 1], y[order])
    inside = np.mean((predicted[:, 0] <= y) & (y <= predicted[:, 4]))
    assert wide.get_label() == f"5 % to 95 % ({100 * inside:.1f} % of rows)"
    assert display.ax_.get_xlabel() == "feature 0"
    assert display.figure_ is display.ax_.figure


def test_over_rows_sorted_by_their_prediction():
    X, y = curve(60)
    model = make_pipeline(StandardScaler(), PSVRQuantiles((0.9, 0.1, 0.5), C=3.0)).fit(X, y)
    display = draw(model, X)
    (line,) = display.lines_
    assert np.array_equal(line.get_xdata(), np.arange(1.0, 61.0))
    assert np.array_equal(line.get_ydata(), np.sort(model.predict(X)[:, 2]))
    assert display.points_ is None
    assert display.bands_[0].get_label() == "10 % to 90 %"
    assert "sorted" not in display.ax_.get_ylabel()


@pytest.mark.parametrize("feature", [1, "b"])
def test_over_one_of_several_features(feature):
    X, y = curve(60)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = PSVRQuantiles((0.1, 0.9), C=3.0).fit(frame, y)
    display = draw(model, frame, y, feature=feature)
    (bars,) = display.bands_
    segments = np.array(bars.get_segments())
    order = np.argsort(X[:, 1])
    assert segments.shape == (60, 2, 2)
    assert segments[:, 0, 0] == pytest.approx(X[order, 1])
    assert segments[:, :, 1] == pytest.approx(model.predict(frame)[order])
    assert display.ax_.get_xlabel() == "b"
    assert display.lines_ == []


def test_options_and_axes():
    X, y = curve(60, d=1)
    ax = Figure().subplots()
    display = QuantileBandDisplay.from_estimator(
        psvm_quantiles(X, y),
        X,
        y,
        ax=ax,
        band_kw={"color": "red"},
        line_kw={"lw": 5},
        scatter_kw={"s": 1.0},
    )
    assert display.ax_ is ax
    assert display.lines_[0].get_linewidth() == 5
    assert display.bands_[0].get_facecolor()[0, 0] == 1.0
    assert display.points_.get_sizes() == [1.0]


def test_errors():
    X, y = curve(30)
    model = psvm_quantiles(X, y)
    with pytest.raises(ValueError, match="PSVRQuantiles, or a pipeline"):
        draw(StandardScaler(), X)
    with pytest.raises(ValueError, match="`feature` must be from 0 to 2"):
        draw(model, X, feature=3)
    with pytest.raises(ValueError, match="which has no names"):
        draw(model, X, feature="a")
    with pytest.raises(ValueError, match="`y` must have 30 values"):
        draw(model, X, y[:5])
    with pytest.raises(ValueError, match="`predicted` must have a row for each"):
        QuantileBandDisplay(x=[1, 2], predicted=[[1.0]], quantiles=[0.5]).plot()
