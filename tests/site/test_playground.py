"""The playground: it evaluates what psvm fitted, and is worked by mouse and keyboard."""

import json

import numpy as np
import pytest

SLIDERS = ["playground-p", "playground-C", "playground-gamma"]


@pytest.fixture(params=[1280, 390])
def playground(request, visit):
    page = visit("playground.html", width=request.param)
    yield page
    assert page.complaints == []


def picture(page, name="boundary"):
    return page.evaluate(f"document.getElementById('playground-{name}').toDataURL()")


def test_the_models_are_those_of_psvm(playground):
    made = pytest.importorskip("playground")
    from psvm import PSVC

    points = np.random.default_rng(0).uniform(-1.2, 1.2, size=(40, 2))
    for number, (X, y) in enumerate(made.data_sets().values()):
        for p, C, gamma in [(1.5, 1, 3), (1, 100, 0.3), (10, 0.1, 10)]:
            found = playground.evaluate(
                """([set, p, C, gamma, points]) => {
                    const part = (name) => document.getElementById(`playground-${name}`);
                    part("set").value = set;
                    part("p").value = psvmModels.ps.indexOf(p);
                    part("C").value = psvmModels.Cs.indexOf(C);
                    part("gamma").value = psvmModels.gammas.indexOf(gamma);
                    const choice = psvmPlayground.chosen();
                    return points.map(([x, y]) => psvmPlayground.decision(choice, x, y));
                }""",
                [number, p, C, gamma, points.tolist()],
            )
            model = PSVC(p=p, C=C, gamma=gamma).fit(np.round(X, 3), y)
            size = 1e-3 * (1 + abs(model.dual_coef_).max())
            assert found == pytest.approx(model.decision_function(points), abs=size)


def test_the_models_are_small(site):
    script = site / "_static" / "playground-models.js"
    assert script.stat().st_size < 1_500_000
    text = script.read_text().removeprefix("window.psvmModels = ").removesuffix(";\n")
    models = json.loads(text)
    assert len(models["sets"]) == 3
    worst = max(
        one["gap"]
        for made in models["sets"]
        for by_p in made["models"]
        for by_C in by_p
        for one in by_C
    )
    assert worst <= 1e-4


def test_tab_reaches_every_control_in_order(playground):
    playground.focus("#playground-set")
    found = []
    for _ in SLIDERS:
        playground.keyboard.press("Tab")
        found.append(playground.evaluate("document.activeElement.id"))
    assert found == SLIDERS


@pytest.mark.parametrize("slider", SLIDERS)
def test_arrow_keys_move_the_model(playground, slider):
    before = picture(playground), playground.inner_text("#playground-summary")
    value = playground.inner_text(f"#{slider}-value")
    playground.focus(f"#{slider}")
    playground.keyboard.press("ArrowRight")
    assert playground.inner_text(f"#{slider}-value") != value
    assert playground.get_attribute(f"#{slider}", "aria-valuetext") != value
    assert picture(playground) != before[0]
    assert playground.inner_text("#playground-summary") != before[1]


def test_every_slider_has_a_label(playground):
    for slider in ["playground-set", *SLIDERS]:
        assert playground.evaluate(f"document.getElementById('{slider}').labels.length") == 1


def test_dragging_p_changes_the_loss(playground):
    before = picture(playground, "loss")
    box = playground.locator("#playground-p").bounding_box()
    playground.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    playground.mouse.down()
    playground.mouse.move(box["x"] + box["width"] - 1, box["y"] + box["height"] / 2)
    playground.mouse.up()
    assert playground.inner_text("#playground-p-value") == "10"
    assert picture(playground, "loss") != before


def test_the_picture_follows_the_theme(visit):
    light, dark = (visit("playground.html", color_scheme=scheme) for scheme in ("light", "dark"))
    assert picture(light) != picture(dark)


def test_it_works_from_a_file(browser, site):
    """Without a server."""
    page = browser.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((site / "playground.html").as_uri())
    assert "support vectors" in page.inner_text("#playground-summary")
    assert complaints == []
    page.close()
