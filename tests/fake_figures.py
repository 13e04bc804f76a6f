"""Stand-ins for the figures and the bounds."""

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4"/></svg>'


def figure1():
    return "figure 1"


def figure2_data(quick=False, progress=None):
    return {"accuracy": [0.5, 0.75], "quick": quick}


figure3_data = figure2_data


def figure2(data):
    return f"drawn from {data['accuracy']}"


figure3 = figure2


def save(figure, folder, name):
    files = [folder / f"{name}.png", folder / f"{name}.svg"]
    files[0].write_bytes(figure.encode())
    files[1].write_text(SVG)
    return files


def compute(dataset, *, quick=False):
    terms = dict.fromkeys(("empirical_loss", "complexity", "uniformity", "confidence"), 0.25)
    lines = [{"p": p, **terms, "total": p, "test_error": 0.125} for p in (1.0, 2.0)]
    return {"dataset": dataset, "n_train": 100, "C": 1.0, "delta": 0.05, "lines": lines}
