"""``psvm fit``: data in, model out."""

import time
from typing import Annotated, Any

import typer

from psvm.cli import options as opt
from psvm.cli.show import show_json, show_notes
from psvm.cli.tasks import Task, refuse_options_of_the_other


def fit(
    data: opt.Data,
    output: opt.ModelOutput,
    target: opt.Target = None,
    task: opt.WantedTask = Task.auto,
    p: Annotated[
        float,
        typer.Option(
            "--p",
            callback=opt.at_least_one,
            help="Exponent of the loss, at least 1.",
            rich_help_panel=opt.LEARNING,
        ),
    ] = 1.5,
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            "-C",
            callback=opt.positive,
            help="Cost of slack; inf asks for a hard margin.",
            show_default="1; of regression by the spread of the target",
            rich_help_panel=opt.LEARNING,
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon",
            callback=opt.not_negative,
            help="Regression: errors up to this cost nothing, in units of the target.",
            show_default="a tenth of its standard deviation; 0 of a quantile",
            rich_help_panel=opt.LEARNING,
        ),
    ] = None,
    quantile: opt.Quantile = None,
    kernel: opt.Kernel = None,
    gamma: Annotated[
        str | None,
        typer.Option(
            "--gamma",
            metavar="scale|auto|NUMBER",
            callback=opt.gamma_text,
            help="Kernel width.",
            show_default="scale",
            rich_help_panel=opt.LEARNING,
        ),
    ] = None,
    degree: Annotated[
        int | None,
        typer.Option(
            "--degree",
            min=1,
            help="Degree of the poly kernel.",
            show_default="3",
            rich_help_panel=opt.LEARNING,
        ),
    ] = None,
    coef0: Annotated[
        float | None,
        typer.Option(
            "--coef0",
            help="Constant of the poly and sigmoid kernels.",
            show_default="0",
            rich_help_panel=opt.LEARNING,
        ),
    ] = None,
    linear: opt.Linear = False,
    approximate: Annotated[
        int | None,
        typer.Option(
            "--approximate",
            metavar="N",
            min=1,
            help="For many rows: N features stand for the kernel (Nystroem), as 300.",
            show_default="the kernel itself",
            rich_help_panel=opt.LEARNING,
        ),
    ] = None,
    class_weight: opt.ClassWeights = None,
    multi_class: opt.MultiClassWay = None,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help="Also learn probabilities, by five more fits.",
            rich_help_panel=opt.LEARNING,
        ),
    ] = False,
    tol: opt.Tol = 1e-4,
    max_iter: Annotated[
        int,
        typer.Option(
            "--max-iter",
            min=-1,
            help="Limit of iterations; -1 for none.",
            rich_help_panel=opt.LEARNING,
        ),
    ] = -1,
    max_time: opt.MaxTime = None,
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
    """Fit a classifier or a regressor to a file and write the model.

    Texts and few whole numbers in the target are classes, other numbers are predicted as numbers
    (--task says it for sure).

    Text columns become one column per category. What is done to the columns is part of the model,
    so that predict takes the same columns, found by their names.

    Exit code 3: the model is written, but its fit was stopped (--max-time, --max-iter) before it
    was done, and a finished one may predict otherwise.

    Example: psvm fit iris.csv --target species --test-size .2 --output iris.psvm
    """
    linear = opt.is_linear(kernel, linear)
    of_kernel: dict[str, Any] = {"gamma": gamma, "degree": degree, "coef0": coef0}
    given = {name: value for name, value in of_kernel.items() if value is not None}
    if linear and (given or approximate is not None):
        name = next(iter(given), "approximate")
        raise typer.BadParameter(f"--{name} has no effect with --linear (--kernel linear)")
    given |= {} if gamma is None else {"gamma": opt.gamma_of(gamma)}
    name = "rbf" if kernel is None else kernel.value
    of_one_task = {
        "--class-weight": class_weight,
        "--multi-class": multi_class,
        "--proba": proba,
        "--epsilon": epsilon,
        "--quantile": quantile,
    }
    refuse_options_of_the_other(task, of_one_task)
    from psvm.cli import train_and_test
    from psvm.cli.approximation import KERNELS, KernelFeatures
    from psvm.cli.files.open_data import ReadOptions
    from psvm.cli.files.training_set import Wanted, read_training
    from psvm.cli.interrupts import telling_what_is_kept
    from psvm.cli.output import check_can_write
    from psvm.cli.regression import new_regressor
    from psvm.cli.row_bar import reading_shown

    features = None
    if approximate is not None:
        if name not in KERNELS:
            raise typer.BadParameter(f"--approximate takes the kernels {', '.join(KERNELS)}")
        features = KernelFeatures(approximate, name, seed, given)
        linear, given = True, {}
    given |= {} if linear else {"kernel": name}
    check_can_write(output)
    options = ReadOptions(delimiter, not no_header, zero_based, decimal, date_order)
    asked = Wanted(
        target, drop or (), impute, max_categories, dates, text or (), number or (), task
    )
    with reading_shown(data, quiet=quiet):
        training = read_training(data, options, asked)
    show_notes([training.told, *training.notes], quiet=quiet)
    refuse_options_of_the_other(training.task, of_one_task, training.why)
    began = time.perf_counter()
    rows = train_and_test.split(training, test_size, seed)
    given |= {"tol": tol, "max_iter": max_iter, "max_time": max_time, "n_jobs": jobs}
    if training.task is Task.regression:
        estimator = new_regressor(
            rows.train.y, linear=linear, p=p, C=C, epsilon=epsilon, quantile=quantile, **given
        )
    else:
        estimator = train_and_test.new_classifier(
            linear=linear,
            p=p,
            C=1.0 if C is None else C,
            class_weight=None if class_weight is None else class_weight.value,
            multi_class="ovo" if multi_class is None else multi_class.value,
            **given,
        )
    with telling_what_is_kept(output), train_and_test.limits_told_later():
        fitted = train_and_test.fit_model(
            estimator,
            rows,
            scale=scale,
            impute=impute,
            proba=proba,
            quiet=quiet,
            began=began,
            features=features,
        )
        train_and_test.save_model(fitted.model, output, target, training)
    if json:
        show_json({"model": str(output), **fitted.facts})
    elif not quiet:
        train_and_test.show_fit(fitted, output)
    advice = "raise --max-time or --max-iter, or accept a larger --tol"
    others = "" if linear else "; or try --approximate 300 or --linear"
    train_and_test.tell_unfinished(fitted, output, advice + others)
