"""For programs and notebooks: run a sweep, evaluate a model that is in memory, open results as data frames."""
