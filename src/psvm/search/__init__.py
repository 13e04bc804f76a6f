"""PSVCCV: p, C and the kernel width chosen by cross-validation.

=================  ==============================================================================
module             what it does
=================  ==============================================================================
``estimator``      PSVCCV: parameters, validation, fitted attributes
``settings``       its parameters, checked
``grid``           the cells, and the grids that follow from the data
``folds``          the splits as binary problems
``preparation``    fits the preprocessor for every split
``posed``          from the data of a fit to its problem
``problem``        rows, classes, cells and splits, as all parts see them
``engines``        which engine solves the cells
``explore``        the search from the first cell to the choice
``gram_search``    solves cells on shared Gram matrices, in threads
``gram``           fills these matrices within a limit of memory
``row_search``     solves cells by whole fits: linear models, and matrices that do not fit
``matrix_first``   solves linear cells on a matrix, the hard ones by whole fits
``models``         what fits one cell, and the chosen one to all rows
``board``          answers for held-out rows, and what an engine is
``scoring``        scores of these answers by any scorer
``table``          scores, the rules that choose, ``cv_results_``
``edges``          choices at the edge of the grid
``calibration``    probabilities from held-out answers
``watch``          progress and callbacks
=================  ==============================================================================
"""

from psvm.search.edges import GridEdgeWarning
from psvm.search.estimator import PSVCCV

__all__ = ["PSVCCV", "GridEdgeWarning"]
