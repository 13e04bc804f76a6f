"""PSVCCV and PSVRCV: p, C, the kernel width and the tube chosen by cross-validation.

=================  ==============================================================================
module             what it does
=================  ==============================================================================
``estimator``      PSVCCV: parameters, fitted attributes
``regressor``      PSVRCV: the same
``base``           what they share: the search from its parameters to its attributes
``settings``       the parameters, checked
``task``           what is left to the kind of answers
``classification`` labels: parameters, models, how rows are encoded
``regression``     targets: the same
``grid``           the cells, and the grids that follow from the data
``folds``          the splits as problems
``preparation``    fits the preprocessor for every split
``posed``          from the data of a fit to its problem
``problem``        rows, cells and splits, as all parts see them
``class_problem``  the same of rows with labels
``target_problem`` the same of rows with targets
``engines``        which engine solves the cells
``explore``        the search from the first cell to the choice
``gram_search``    solves cells on shared Gram matrices, in threads
``gram``           fills these matrices within a limit of memory
``row_search``     solves cells by whole fits: linear models, and matrices that do not fit
``matrix_first``   solves linear cells on a matrix, the hard ones by whole fits
``models``         the chosen cell, fitted to all rows
``board``          answers for held-out rows, and what an engine is
``scoring``        scores of these answers by any scorer
``class_scoring``  the same of decision values, and probabilities
``target_scoring`` the same of predictions
``table``          scores, the rules that choose, ``cv_results_``
``edges``          choices at the edge of the grid
``default_p``      the chosen p beside the default one
``calibration``    probabilities from held-out answers
``routing``        which metadata goes where
``watch``          progress and callbacks
=================  ==============================================================================
"""

from psvm.search.default_p import PBesideDefault, p_beside_default
from psvm.search.edges import GridEdgeWarning
from psvm.search.estimator import PSVCCV
from psvm.search.regressor import PSVRCV

__all__ = ["PSVCCV", "PSVRCV", "GridEdgeWarning", "PBesideDefault", "p_beside_default"]
