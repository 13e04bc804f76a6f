"""What counts as small: sizes at which one way of solving overtakes another, and why."""

# Rows of the whole training set up to which every problem is polished: some 10 ms at this size.
SMALL = 500
# Rows up to which Newton is the way out of a stall: its matrix takes 200 MB, a step about a second.
RESCUE = 5000
