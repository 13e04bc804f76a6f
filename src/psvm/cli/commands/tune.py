"""``psvm tune``: p, C, epsilon and the kernel width by cross-validation."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from psvm.cli import options as opt
from psvm.cli.show import show_json, show_notes
from psvm.cli.tasks import Task, refuse_options_of_the_other


def tune(
    data: opt.Data,
    output: opt.ModelOutput,
    target: opt.Target = None,
    task: opt.WantedTask = Task.auto,
    ps: Annotated[
        str | None,
        typer.Option(
            "--ps",
            metavar="1,1.5,2",
            callback=opt.several(opt.at_least_one),
            help="Exponents to try.",
            show_default="1,1.25,1.5,2,3",
            rich_help_panel=opt.LEARNING,
        ),
    ] = None,
    Cs: Annotated[
        str | None,
        typer.Option(
            "--Cs",
            metavar="0.1,1,10",
            callback=opt.several(opt.positive_and_finite),
            help="Costs of slack to try.",
            show_default="by the data",
            rich_help_panel=opt.LEARNING,
        ),
    ] = None,
    gammas: Annotated[
        str | None,
        typer.Option(
            "--gammas",
            metavar="0.01,0.1",
            callback=opt.several(opt.positive_and_finite),
            help="Kernel widths to try.",
            show_default="by the data",
            rich_help_panel=opt.LEARNING,
        ),
    ] = None,
    epsilons: Annotated[
        str | None,
        typer.Option(
            "--epsilons",
            metavar="0,0.1",
            callback=opt.several(opt.not_negative),
            help="Regression: errors that cost nothing, in units of the target, to try.",
            show_default="by the data",
            rich_help_panel=opt.LEARNING,
        ),
    ] = None,
    quantile: opt.Quantile = None,
    kernel: opt.Kernel = None,
    linear: opt.Linear = False,
    class_weight: opt.ClassWeights = None,
    max_time: opt.MaxTime = None,
    cv: Annotated[
        int, typer.Option("--cv", metavar="N", min=2, help="Folds of the cross-validation.")
    ] = 5,
    scoring: Annotated[
        str | None,
        typer.Option(
            "--scoring",
            metavar="NAME",
            help="Score of scikit-learn, as roc_auc or f1_macro, or of numbers r2.",
            show_default="accuracy; of numbers r2, or the pinball loss of a quantile",
        ),
    ] = None,
    rule: Annotated[
        opt.Rule,
        typer.Option(
            "--rule", help="Take the best score, or the simplest model within a standard error."
        ),
    ] = opt.Rule.best,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Rows of the table.")] = 10,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            help="Also write a report with pictures, one HTML file.",
            show_default="none",
        ),
    ] = None,
    test_size: opt.TestSize = None,
    seed: opt.Seed = 0,
    scale: opt.Scale = None,
    impute: opt.Impute = False,
    drop: opt.Drop = None,
    max_categories: opt.MaxCategories = 50,
    text: opt.AsText = None,
    number: opt.AsNumber = None,
    dates: opt.DateColumns = None,
    decimal: opt.Decimal = None,
    date_order: opt.Order = None,
    delimiter: opt.Delimiter = None,
    no_header: opt.NoHeader = False,
    zero_based: opt.ZeroBased = False,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Choose p, C and the kernel width by cross-validation, and write the best model.

    All values share their kernel matrices, so that five p cost less than a grid search over C and
    gamma of a usual SVM. Models of classes have probabilities; of numbers, epsilon is chosen, too.

    Example: psvm tune iris.csv --target species --output iris.psvm
    """
    linear = opt.is_linear(kernel, linear)
    if linear and gammas is not None:
        raise typer.BadParameter("--gammas has no effect with --linear (--kernel linear)")
    name = "linear" if linear else "rbf" if kernel is None else kernel.value
    of_one_task = {
        "--class-weight": class_weight,
        "--epsilons": epsilons,
        "--quantile": quantile,
    }
    refuse_options_of_the_other(task, of_one_task)
    from psvm.cli import search_and_test, train_and_test
    from psvm.cli.files.open_data import ReadOptions
    from psvm.cli.files.training_set import Wanted, read_training
    from psvm.cli.interrupts import CtrlC, telling_what_is_kept
    from psvm.cli.output import check_can_write
    from psvm.cli.row_bar import reading_shown

    grids = {"ps": ps, "Cs": Cs, "gammas": gammas, "epsilons": epsilons}
    given: dict[str, Any] = {
        name: [float(part) for part in text.split(",")]
        for name, text in grids.items()
        if text is not None
    }
    given |= {
        "kernel": name,
        "cv": cv,
        "scoring": scoring,
        "rule": rule.value,
        "max_time": max_time,
        "on_interrupt": "keep",
        "n_jobs": jobs,
    }
    check_can_write(output)
    if report is not None:
        check_can_write(report)
        # Before the search, so that a missing package is told first.
        from psvm.cli.search_report import write_report
    options = ReadOptions(delimiter, not no_header, zero_based, decimal, date_order)
    asked = Wanted(
        target, drop or (), impute, max_categories, dates, text or (), number or (), task
    )
    with reading_shown(data, quiet=quiet):
        training = read_training(data, options, asked)
    show_notes([training.told, *training.notes], quiet=quiet)
    refuse_options_of_the_other(training.task, of_one_task, training.why)
    if training.task is Task.regression:
        given["quantile"] = 0.5 if quantile is None else quantile
    else:
        given["class_weight"] = None if class_weight is None else class_weight.value
    search = search_and_test.new_search(training.task, **given)
    rows = train_and_test.split(training, test_size, seed)
    with telling_what_is_kept(output), CtrlC() as ctrl_c, train_and_test.limits_told_later():
        tuned = search_and_test.tune_model(search, rows, scale=scale, impute=impute, quiet=quiet)
        train_and_test.save_model(tuned.model, output, target, training)
    if report is not None:
        write_report(report, data, target, tuned, search, rows)
    if json:
        show_json({"model": str(output), **tuned.facts})
    elif not quiet:
        search_and_test.show_search(tuned, top)
        train_and_test.show_fit(tuned, output)
    tried, wanted = len(tuned.facts["search"]), tuned.facts["combinations"]
    if ctrl_c.came or (max_time is not None and tried < wanted):
        why = "Ctrl-C" if ctrl_c.came else f"--max-time {max_time:g}"
        sys.stderr.write(
            f"psvm: stopped by {why}: {tried} of {wanted} combinations were finished; the best "
            f"of them is written to {output}\n"
        )
    if ctrl_c.came:
        raise typer.Exit(130)
    others = "" if linear else ", or try --linear"
    train_and_test.tell_unfinished(tuned, output, f"raise --max-time{others}")
