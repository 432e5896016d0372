"""How new calls are made: mutators, crossover, fitness and selection on DEAP, the API scheduler and the strategies."""
