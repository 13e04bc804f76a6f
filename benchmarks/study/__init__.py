"""Which p, and is it worth it? A study on 71 real tables.

    python -m benchmarks.study             # under three hours on two cores; --plan tells more
    python -m benchmarks.study --quick     # four small sets, two repeats: under three minutes
    python -m benchmarks.study --only pima sonar --methods kernel lightgbm --repeats 3
    python -m benchmarks.study.searches    # is there a cheaper search? 15 minutes
    python -m benchmarks.study.report      # docs/study.md and its pictures, from the results

A run that was stopped goes on where it was. ``sets`` says what is read and what is left out of it,
``preparation`` what every table goes through, ``splits`` who trains and who tests, ``machines`` and
``rivals`` what is fitted, ``rules`` how p is chosen, ``plan`` how long it may take, ``store`` what
is kept. ``statistics`` and ``report`` need the results only. Of ``searches``, ``cells`` computes
what is known of a split, ``strategies`` plays on it, ``search_evidence`` says what pays.
"""
