"""The evolution: one population per API, NSGA-II over curiosity and discrepancy, operators that earn their share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from deap import tools

from evo_nabla.call import Call
from evo_nabla.evolution.anatomy import Anatomy
from evo_nabla.evolution.context import Context
from evo_nabla.evolution.feedback import SEED, Evaluated, Offspring
from evo_nabla.evolution.fitness import NOTHING_TO_CLIMB, FeatureStatistics, climbed
from evo_nabla.evolution.individual import Individual, individual_from_json
from evo_nabla.evolution.ledger import Ledger
from evo_nabla.evolution.mutators import MUTATORS
from evo_nabla.evolution.mutators.refine import Step, draw_step, take
from evo_nabla.evolution.pool import ArgumentPool
from evo_nabla.evolution.randomness import chance, pick
from evo_nabla.evolution.signatures import Signatures
from evo_nabla.evolution.surgery import repaired
from evo_nabla.evolution.toolbox import make_toolbox
from evo_nabla.evolution.yields import Yields

# μ: individuals kept per API.
CAPACITY = 32
# Share of offspring whose parent is any seed, whether it survived or not: fresh structure for a settled population.
IMMIGRATION = 0.15
# Share of a visit that goes to seeds not yet run, once some were. An API's seeds resemble each other: children of the
# first find more than the tenth seed does, and run into most of what the others have to show.
SEED_SHARE = 0.25
# After each mutation another one follows with this chance, up to the most; stacking as havoc stages do.
STACKING = 0.4
MOST_STACKED = 4
# An improving numeric step is taken again, longer, with this chance.
PERSISTENCE = 0.35
# A parent whose modes disagree a little is refined with this chance, besides what the operator earns: a slope is
# climbed in many steps, of which most are too small to earn anything by themselves.
REFINEMENT = 0.1
# Attempts to make one child that is new; an operator with nothing to change costs an attempt.
ATTEMPTS = 12
# Generations that the logbook keeps: a week's campaign has millions.
LOGGED = 500

REFINE = "refine.step"
CROSSOVER = "crossover.mate"


class Population:
    """The individuals of one API, the best of all that were learned, with their features counted."""

    def __init__(self, seeds: Sequence[Call]) -> None:
        self.ledger = Ledger(seeds)
        self.individuals: list[Individual] = []
        self._by_hash: dict[str, Individual] = {}
        self.statistics = FeatureStatistics()
        self.generation = 0
        # Numeric steps of offspring that are being run, by hash; lost with a killed driver, and no loss.
        self.steps: dict[str, Step] = {}

    def find(self, hash: str) -> Optional[Individual]:
        return self._by_hash.get(hash)

    def add(self, individual: Individual) -> None:
        """Take an individual in; whoever shares features with it becomes less rare."""
        shared = any(self.statistics.count(feature) for feature in individual.features)
        self.statistics.add(individual.features)
        self.individuals.append(individual)
        self._by_hash[individual.hash] = individual
        if shared:
            self.rate_rarity()

    def keep(self, survivors: list[Individual]) -> None:
        """Let all others go, and their features with them."""
        staying = {individual.hash: individual for individual in survivors}
        for individual in self.individuals:
            if individual.hash not in staying:
                self.statistics.discard(individual.features)
        self.individuals = survivors
        self._by_hash = staying

    def rate_rarity(self) -> None:
        """Each individual's novelty, less what other individuals show as well."""
        for individual in self.individuals:
            if individual.features:
                share = self.statistics.rarity(individual.features) / len(individual.features)
                individual.rarity = individual.novelty * share


class EvoStrategy:
    """Proposes some seeds first, then children of the selected with the other seeds among them; learns novelty,
    discrepancy and which operators pay."""

    name = "evo"

    def __init__(self, seeds: Mapping[str, Sequence[Call]], signatures: Signatures) -> None:
        self._context = Context(ArgumentPool(seeds, signatures), signatures)
        self._toolbox = make_toolbox(self._context)
        self._yields = Yields([*MUTATORS, REFINE, CROSSOVER])
        self._populations = {api: Population(calls) for api, calls in seeds.items() if calls}
        self._changed: dict[str, None] = {}
        self.logbook = tools.Logbook()
        self._statistics = _statistics()

    @property
    def apis(self) -> tuple[str, ...]:
        return tuple(self._populations)

    def pending(self, api: str) -> int:
        return self._population(api).ledger.pending

    def population(self, api: str) -> tuple[Individual, ...]:
        """The individuals of one API as they stand."""
        return tuple(self._population(api).individuals)

    def propose(self, api: str, count: int) -> list[Offspring]:
        population = self._population(api)
        seeds = count if not population.individuals else max(1, int(SEED_SHARE * count))
        batch = population.ledger.take_seeds(min(seeds, count))
        missing = count - len(batch)
        if missing <= 0:
            return batch
        parents = self._parents(population, missing)
        children = [self._child(population, parent) for parent in parents]
        batch += [child for child in children if child is not None]
        for individual in population.individuals:
            individual.release()
        self._changed[api] = None
        return batch

    def learn(self, api: str, results: Sequence[Evaluated]) -> None:
        population = self._population(api)
        population.ledger.note(results)
        for result in results:
            self._take_in(population, result)
        self._rank(population)
        population.generation += 1
        self._log(api, population, results)
        self._changed[api] = None

    def yields(self) -> list[dict[str, Any]]:
        return self._yields.table()

    def state(self) -> dict[str, Any]:
        self._changed.clear()
        return {
            "shared": {"yields": self._yields.state()},
            "apis": {api: _population_state(population) for api, population in self._populations.items()},
        }

    def changes(self) -> dict[str, Any]:
        apis = {api: _population_state(self._populations[api]) for api in self._changed}
        self._changed.clear()
        return {"shared": {"yields": self._yields.state()}, "apis": apis}

    def restore(self, state: dict[str, Any]) -> None:
        self._yields.restore(state["shared"]["yields"])
        for api, population_state in state["apis"].items():
            if api in self._populations:
                self._restore_population(self._populations[api], population_state)
        self._changed.clear()

    # making children

    def _parents(self, population: Population, count: int) -> list[Individual]:
        """Selected individuals, and now and then any seed instead; seeds alone while nothing was learned."""
        selected: list[Optional[Individual]] = [None] * count
        if population.individuals:
            selected = self._toolbox.parents(population.individuals, count)
        return [
            self._immigrant(population) if individual is None or chance(IMMIGRATION) else individual
            for individual in selected
        ]

    def _immigrant(self, population: Population) -> Individual:
        position = pick(range(len(population.ledger.seeds)))
        hash = population.ledger.hash_of(position)
        return population.find(hash) or Individual(population.ledger.seeds[position], hash)

    def _child(self, population: Population, parent: Individual) -> Optional[Offspring]:
        """A call that was not proposed before, as far as remembered; None if many attempts gave none."""
        if parent.trail is not None and chance(PERSISTENCE):
            child = self._refined(population, parent, parent.trail.longer())
            if child is not None:
                return child
        for _ in range(ATTEMPTS):
            child = self._varied(population, parent)
            if child is not None:
                return child
        return None

    def _varied(self, population: Population, parent: Individual) -> Optional[Offspring]:
        on_slope = climbed(parent.discrepancy) > NOTHING_TO_CLIMB
        name = REFINE if on_slope and chance(REFINEMENT) else self._yields.draw()
        if name == REFINE:
            step = draw_step(parent.anatomy) if on_slope else None
            return self._refined(population, parent, step) if step is not None else None
        if name == CROSSOVER:
            mate = pick(population.individuals) if population.individuals else parent
            if mate is parent:
                return None
            call, _ = self._toolbox.mate(parent.anatomy, mate.anatomy)
            return self._offspring(population, call, (CROSSOVER,), (parent.hash, mate.hash))
        mutated: Optional[Call] = self._toolbox.mutate(name, parent.anatomy)
        if mutated is None:
            return None
        operators = [name]
        while len(operators) < MOST_STACKED and chance(STACKING):
            name = self._yields.draw()
            further = self._toolbox.mutate(name, Anatomy(mutated)) if name in MUTATORS else None
            if further is not None:
                mutated = further
                operators.append(name)
        return self._offspring(population, mutated, tuple(operators), (parent.hash,))

    def _refined(self, population: Population, parent: Individual, step: Step) -> Optional[Offspring]:
        call = take(parent.anatomy, step)
        child = None if call is None else self._offspring(population, call, (REFINE,), (parent.hash,))
        if child is not None:
            population.steps[child.hash] = step
        return child

    def _offspring(
        self, population: Population, call: Call, operators: tuple[str, ...], parents: tuple[str, ...]
    ) -> Optional[Offspring]:
        offspring = Offspring(repaired(call), operators, parents)
        return offspring if population.ledger.admit(offspring.hash) else None

    # learning

    def _rank(self, population: Population) -> None:
        """Evaluate the individuals, keep the best, and set the crowding distances that parents are selected by.

        All of it follows from the individuals and their order alone, so that a restored population ranks alike.
        """
        self._evaluate(population)
        if len(population.individuals) > CAPACITY:
            population.keep(self._toolbox.select(population.individuals, CAPACITY))
            population.rate_rarity()
            self._evaluate(population)
        if population.individuals:
            self._toolbox.select(population.individuals, len(population.individuals))

    def _evaluate(self, population: Population) -> None:
        individuals = population.individuals
        for individual, values in zip(individuals, self._toolbox.map(self._toolbox.evaluate, individuals)):
            individual.fitness.values = values

    def _take_in(self, population: Population, result: Evaluated) -> None:
        offspring, feedback = result.offspring, result.feedback
        step = population.steps.pop(offspring.hash, None)
        parents = [parent for hash in offspring.parents if (parent := population.find(hash)) is not None]
        rise = climbed(feedback.discrepancy) - max(
            (climbed(parent.discrepancy) for parent in parents), default=NOTHING_TO_CLIMB
        )
        for parent in parents:
            parent.discovered += feedback.novelty
            parent.fruitless += feedback.novelty == 0
        is_seed = offspring.operators == (SEED,)
        if not is_seed:
            self._yields.credit(
                offspring.operators,
                valid=feedback.valid,
                differentiated=feedback.differentiated,
                novelty=feedback.novelty,
                climb=rise if feedback.valid else 0.0,
            )
        if not feedback.valid or not (is_seed or feedback.novelty > 0 or rise > 0):
            return
        if population.find(offspring.hash) is None:
            population.add(
                self._toolbox.individual(
                    offspring.call,
                    offspring.hash,
                    operators=offspring.operators,
                    parents=offspring.parents,
                    features=feedback.features,
                    novelty=feedback.novelty,
                    discrepancy=feedback.discrepancy,
                    trail=step if rise > 0 else None,
                )
            )

    def _log(self, api: str, population: Population, results: Sequence[Evaluated]) -> None:
        record = self._statistics.compile(population.individuals) if population.individuals else {}
        novelty = sum(result.feedback.novelty for result in results)
        self.logbook.record(api=api, generation=population.generation, calls=len(results), novelty=novelty, **record)
        if len(self.logbook) > LOGGED:
            del self.logbook[0]

    # state

    def _population(self, api: str) -> Population:
        try:
            return self._populations[api]
        except KeyError:
            raise ValueError(f"{api} has no seeds to evolve from") from None

    def _restore_population(self, population: Population, state: dict[str, Any]) -> None:
        population.ledger.restore(state["ledger"])
        population.generation = state["generation"]
        population.steps.clear()
        population.keep([])
        for document in state["individuals"]:
            population.add(individual_from_json(document))
        self._rank(population)


def _population_state(population: Population) -> dict[str, Any]:
    return {
        "ledger": population.ledger.state(),
        "generation": population.generation,
        "individuals": [individual.to_json() for individual in population.individuals],
    }


def _statistics() -> tools.MultiStatistics:
    """Mean and maximum of both objectives over a population."""
    statistics = tools.MultiStatistics(
        curiosity=tools.Statistics(lambda individual: individual.fitness.values[0]),
        discrepancy=tools.Statistics(lambda individual: individual.fitness.values[1]),
    )
    statistics.register("mean", lambda values: sum(values) / len(values))
    statistics.register("max", max)
    return statistics
