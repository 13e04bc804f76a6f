"""What counts as small: sizes at which one way of solving overtakes another, and why."""

# Rows of the whole training set up to which every problem is polished: some 10 ms at this size.
SMALL = 500
# Rows up to which Newton is the way out of a stall: its matrix takes 200 MB, a step about a second.
RESCUE = 5000
# Pair steps per row before Newton takes over a linear kernel with few features: then the two take
# about as long, and easy pairs of classes are done (30 and 100 measured slower on hard ones). A
# search gives a cell of its matrix as many before the linear solvers take over.
STEPS_PER_ROW = 10
