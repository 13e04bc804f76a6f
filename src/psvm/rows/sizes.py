"""What counts as small or much: sizes that several modules share, and what chose them."""

# Rows of a training set up to which everything is kept and exact: its float64 kernel matrix (318
# rows: fits twice as fast), equal rows merged however few there are, solutions polished to the
# last digits (some 10 ms at this size).
SMALL = 500
# Rows of a binary problem up to which all pair steps are taken on its float64 matrix, in one call
# for all problems of a fit (1000 rows: three to five times as fast as by working sets).
WHOLE = 1000
# Rows up to which a whole matrix, of 200 MB in float64, is affordable where nothing else helps:
# Newton, whose steps take about a second, is the way out of a stall, and a search tries a linear
# kernel on its matrix.
RESCUE = 5000
# Rows below which a fit that takes longer than so many seconds of work is given up.
FEW_ROWS, MOST_EFFORT = 1000, 4.0
# Pair steps per row that a linear kernel gets before the solvers of its weights take over: then the
# two take about as long, and easy pairs of classes are done (30 and 100 measured slower on hard
# ones).
FEW_STEPS = 10
# Entries of a row from which a kernel value costs more than to look for zeros, and more than to
# read it from memory (five widths of rbf, distances kept: 57 features equal, 256 1.7 times faster).
MANY_FEATURES = 128
# Share of nonzeros below which an array is turned into a CSR matrix: a nonzero costs as much as two
# features of a dense row (kernel of mnist: 9 instead of 20 ns an entry; linear fits at a share of
# 0.25, 60 to 500 features: 1.2 to 2.7 times faster, a9a 5 times).
MOSTLY_ZERO = 0.3
# Entries of X below which no conversion is worth the look, of about 0.1 ms.
WORTH_CONVERTING = 1e5
# Entries of a temporary copy, so that it stays near the processor (8 MB of float64), and of a block
# that is computed or passed over by several threads: some 10 ms, so that an interrupt is soon
# answered (2^21 to 2^25 measured alike, 2^18 cost 20 % more).
CHUNK_ENTRIES, BLOCK_ENTRIES = 2**20, 2**23
