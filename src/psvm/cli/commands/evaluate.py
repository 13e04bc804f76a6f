"""``psvm evaluate``: how good a model is on rows whose labels or numbers are known."""

from psvm.cli import options as opt
from psvm.cli.show import show_json, show_scores


def evaluate(
    model: opt.Model,
    data: opt.Data,
    target: opt.Target = None,
    decimal: opt.Decimal = None,
    date_order: opt.Order = None,
    delimiter: opt.Delimiter = None,
    no_header: opt.NoHeader = False,
    zero_based: opt.ZeroBased = False,
    json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Score a model on a file with labels or numbers.

    Of classes: accuracy, balanced accuracy, F1, ROC AUC, precision and recall of every class, and
    the confusion matrix. Labels that the model does not know are an error. Of numbers: R², mean
    absolute and root mean squared error, and the pinball loss of a quantile. The target is that of
    the fit unless another one is given.

    Example: psvm evaluate iris.psvm test.csv
    """
    from psvm.cli.files.open_data import ReadOptions
    from psvm.cli.predict_blocks import evaluation

    scores = evaluation(
        model, data, ReadOptions(delimiter, not no_header, zero_based, decimal, date_order), target
    )
    if json:
        show_json(scores)
    elif scores.get("task") == "regression":
        from psvm.cli.regression import show_regression_scores

        show_regression_scores(scores, "evaluated on")
    else:
        show_scores(scores, "evaluated on")
