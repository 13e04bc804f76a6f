"""Random fits, files and failures, judged in extended precision: ``make fuzz``."""
