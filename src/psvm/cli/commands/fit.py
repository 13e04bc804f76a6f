"""``psvm fit``: data in, model out."""

import time
from typing import Annotated, Any

import typer

from psvm.cli import options as opt
from psvm.cli.show import show_json


def fit(
    data: opt.Data,
    output: opt.ModelOutput,
    target: opt.Target = None,
    p: Annotated[
        float,
        typer.Option(
            "--p",
            callback=opt.at_least_one,
            help="Exponent of the hinge, at least 1.",
            rich_help_panel=opt.LEARNING,
        ),
    ] = 1.5,
    C: Annotated[
        float,
        typer.Option(
            "--C",
            "-C",
            callback=opt.positive,
            help="Cost of slack; inf asks for a hard margin.",
            rich_help_panel=opt.LEARNING,
        ),
    ] = 1.0,
    kernel: Annotated[
        opt.KernelName | None,
        typer.Option("--kernel", help="Kernel.", show_default="rbf", rich_help_panel=opt.LEARNING),
    ] = None,
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
    linear: Annotated[
        bool,
        typer.Option(
            "--linear",
            help="No kernel: fast for many rows, keeps one weight per feature.",
            rich_help_panel=opt.LEARNING,
        ),
    ] = False,
    class_weight: opt.ClassWeights = None,
    multi_class: opt.MultiClassWay = opt.MultiClass.ovo,
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
    max_time: Annotated[
        float | None,
        typer.Option(
            "--max-time",
            callback=opt.positive,
            help="Limit of seconds, of everything after reading the file.",
            show_default="none",
            rich_help_panel=opt.LEARNING,
        ),
    ] = None,
    test_size: opt.TestSize = None,
    seed: opt.Seed = 0,
    scale: opt.Scale = None,
    impute: opt.Impute = False,
    drop: opt.Drop = None,
    max_categories: opt.MaxCategories = 50,
    delimiter: opt.Delimiter = None,
    no_header: opt.NoHeader = False,
    zero_based: opt.ZeroBased = False,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Fit a classifier to a file and write the model.

    Text columns become one column per category. What is done to the columns is part of the model,
    so that predict takes the same columns, found by their names.

    Example: psvm fit iris.csv --target species --test-size .2 --output iris.psvm
    """
    of_kernel: dict[str, Any] = {"kernel": kernel, "gamma": gamma, "degree": degree, "coef0": coef0}
    given = {name: value for name, value in of_kernel.items() if value is not None}
    if linear and given:
        raise typer.BadParameter(f"--{next(iter(given))} has no effect with --linear")
    given |= {} if gamma is None else {"gamma": opt.gamma_of(gamma)}
    given |= {} if kernel is None else {"kernel": kernel.value}
    from psvm.cli import train_and_test
    from psvm.cli.files.open_data import ReadOptions
    from psvm.cli.files.training_set import Wanted, read_training
    from psvm.cli.output import check_can_write

    check_can_write(output)
    options = ReadOptions(delimiter, not no_header, zero_based)
    training = read_training(data, options, Wanted(target, drop or (), impute, max_categories))
    began = time.perf_counter()
    classifier = train_and_test.new_classifier(
        linear=linear,
        p=p,
        C=C,
        class_weight=None if class_weight is None else class_weight.value,
        multi_class=multi_class.value,
        tol=tol,
        max_iter=max_iter,
        max_time=max_time,
        n_jobs=jobs,
        **given,
    )
    fitted = train_and_test.fit_model(
        classifier,
        train_and_test.split(training, test_size, seed),
        scale=scale,
        impute=impute,
        proba=proba,
        quiet=quiet,
        began=began,
    )
    train_and_test.save_model(fitted.model, output)
    if json:
        show_json({"model": str(output), **fitted.facts})
    elif not quiet:
        train_and_test.show_fit(fitted, output)
