"""DEAP's toolbox, the configuration of the evolution: mate, mutate, evaluate, select, parents and map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from deap import base, tools

from evo_nabla.call import Call

from .anatomy import Anatomy
from .context import Context
from .crossover import mate
from .fitness import climbed, curiosity
from .individual import Individual
from .mutators import MUTATORS


def mutate(name: str, anatomy: Anatomy, context: Context) -> Optional[Call]:
    """The call after the mutator of this name, its paths not yet `repaired`; None where there is nothing to mutate."""
    return MUTATORS[name](anatomy, context)


def evaluate(individual: Individual) -> tuple[float, float]:
    """(curiosity, discrepancy), both to be maximised, of what is known of an individual now."""
    return (
        curiosity(individual.rarity, individual.discovered, individual.fruitless),
        climbed(individual.discrepancy),
    )


def select_survivors(individuals: Sequence[Individual], count: int) -> list[Individual]:
    """NSGA-II's survivors (Deb et al. 2002): whole fronts, the last one by crowding; sets crowding distances."""
    survivors: list[Individual] = tools.selNSGA2(individuals, count, nd="log")
    return survivors


def select_parents(individuals: Sequence[Individual], count: int) -> list[Individual]:
    """NSGA-II's mating selection: binary tournaments by dominance, then by crowding distance, which must be set."""
    # selTournamentDCD works on fours and takes nobody more than twice; a small population is offered several times.
    crowd = list(individuals) * -(-4 // len(individuals))
    most = len(crowd) - len(crowd) % 4
    parents: list[Individual] = []
    while len(parents) < count:
        wanted = count - len(parents)
        parents += tools.selTournamentDCD(crowd, min(most, wanted + -wanted % 4))
    return parents[:count]


def make_toolbox(context: Context) -> base.Toolbox:
    """The registered operators, as a strategy uses them."""
    toolbox = base.Toolbox()
    toolbox.register("individual", Individual)
    toolbox.register("mate", mate)
    toolbox.register("mutate", mutate, context=context)
    toolbox.register("evaluate", evaluate)
    toolbox.register("select", select_survivors)
    toolbox.register("parents", select_parents)
    toolbox.register("map", map)
    return toolbox
