"""Explainers that break the contract, each in one way."""

import random
from dataclasses import replace

import numpy as np
import torch

from edgeflip import Budget, Constraints
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.search import Ended
from edgeflip.testing import example_graphs

# Two graphs, one flipped by an addition and one by a removal, are enough to see a break.
QUICK = {
    "train": example_graphs(5, seed=1),
    "graphs": example_graphs(2, seed=4),
    "budget": Budget(oracle_calls=60),
}


class ProposesNothing(RandomSearch):
    name = "nothing"

    def _search(self, search):
        return None


class ProposesNothingForATarget(RandomSearch):
    name = "no-target"

    def _search(self, search):
        return super()._search(search) if search.goal.target is None else None


class AsksPastTheMeter(RandomSearch):
    name = "unmetered"

    def _search(self, search):
        self.oracle_.predict_proba([search.space.input] * 3)
        return super()._search(search)


class AsksAboutEditsPastTheMeter(RandomSearch):
    name = "unmetered-edits"

    def _search(self, search):
        self.oracle_.predict_edits(search.space, search.space.groups["remove"][:, None])
        return super()._search(search)


class KeepsItsFirstFit(RandomSearch):
    name = "first-fit"

    def fit(self, graphs, oracle, *, seed=0):
        return self if hasattr(self, "oracle_") else super().fit(graphs, oracle, seed=seed)


class KeepsWhatItLearntFirst(RandomSearch):
    """The oracle is new, what was learned from the graphs is not."""

    name = "first-lesson"
    lesson = None

    def _fit(self, graphs, oracle):
        if self.lesson is None:
            self.lesson = len(graphs)

    def _search(self, search):
        search.note(lesson=self.lesson)
        return super()._search(search)


class ReturnsNothingFromFit(RandomSearch):
    name = "no-return"

    def fit(self, graphs, oracle, *, seed=0):
        super().fit(graphs, oracle, seed=seed)


class IgnoresKeep(RandomSearch):
    name = "keep"

    def explain(self, graph, *, keep=20, **options):
        return super().explain(graph, **options)


class KeepsOneMore(RandomSearch):
    name = "keep-more"

    def __init__(self, config=None):
        super().__init__(config or RandomConfig(max_removed=1, max_added=1, stop_at_first=False))

    def explain(self, graph, *, keep=20, **options):
        return super().explain(graph, keep=keep + (keep > 0), **options)


class IgnoresFill(RandomSearch):
    name = "fill"

    def explain(self, graph, *, fill=None, **options):
        return super().explain(graph, **options)


class FillsWithZeros(RandomSearch):
    name = "zeros"

    def explain(self, graph, *, fill=None, **options):
        return super().explain(graph, fill=None if fill is None else "zeros", **options)


class AnswersWithAnotherFill(RandomSearch):
    """Searches with the common row and reports the fill that was asked for."""

    name = "other-fill"

    def explain(self, graph, *, fill=None, **options):
        answer = super().explain(graph, fill=None if fill is None else "mode", **options)
        return replace(answer, space=replace(answer.space, fill=fill))


class MovesNumPy(RandomSearch):
    name = "numpy"

    def explain(self, graph, **options):
        np.random.rand()
        return super().explain(graph, **options)


class MovesPython(RandomSearch):
    name = "python"

    def explain(self, graph, **options):
        random.random()
        return super().explain(graph, **options)


class MovesTorchInFit(RandomSearch):
    name = "fit-torch"

    def fit(self, graphs, oracle, *, seed=0):
        torch.manual_seed(seed)
        return super().fit(graphs, oracle, seed=seed)


class MovesNumPyInFit(RandomSearch):
    name = "fit-numpy"

    def fit(self, graphs, oracle, *, seed=0):
        np.random.rand()
        return super().fit(graphs, oracle, seed=seed)


class DrawsFromTheCaller(RandomSearch):
    """Its answers depend on the global state, which it puts back."""

    name = "caller"

    def explain(self, graph, *, seed=0, **options):
        state = random.getstate()
        drawn = random.randrange(1000)
        random.setstate(state)
        return super().explain(graph, seed=seed + drawn, **options)


class SortsTheEdges(RandomSearch):
    """The graph is the same but for the order of its columns."""

    name = "sorting"

    def explain(self, graph, **options):
        answer = super().explain(graph, **options)
        graph.edge_index = graph.edge_index.flip(1)
        return answer


class ChangesTrainingGraphs(RandomSearch):
    name = "train-graphs"

    def _fit(self, graphs, oracle):
        graphs[0].x *= 2


class ChangesTheModel(RandomSearch):
    """Does something to the model around the search."""

    def change(self, model):
        raise NotImplementedError

    def explain(self, graph, **options):
        answer = super().explain(graph, **options)
        model = getattr(self.oracle_, "model", None)
        if model is not None:
            self.change(model)
        return answer


class ClearsGradients(ChangesTheModel):
    name = "clears"

    def change(self, model):
        model.zero_grad()


class LeavesGradients(ChangesTheModel):
    name = "leaves"

    def change(self, model):
        for parameter in model.parameters():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)


class UnfreezesParameters(ChangesTheModel):
    name = "unfreezes"

    def change(self, model):
        model.requires_grad_(True)


class LeavesEvaluationMode(ChangesTheModel):
    name = "evaluates"

    def change(self, model):
        model.eval()


class LeavesTrainingMode(ChangesTheModel):
    """Takes the mode of the whole for that of every part."""

    name = "trains"

    def change(self, model):
        model.train(model.training)


class ClearsGradientsInFit(RandomSearch):
    name = "fit-clears"

    def fit(self, graphs, oracle, *, seed=0):
        if hasattr(oracle, "model"):
            oracle.model.zero_grad()
        return super().fit(graphs, oracle, seed=seed)


class Crashes(RandomSearch):
    name = "crashing"

    def _search(self, search):
        raise ZeroDivisionError("no way")


class CrashesInFit(RandomSearch):
    name = "fit-crashing"

    def _fit(self, graphs, oracle):
        raise ZeroDivisionError("no way")


class OneByOne(RandomSearch):
    """Asks about single edits, one at a time; what is broken in those below is around it."""

    def _stops_at_first(self):
        return False

    def _search(self, search):
        for row in search.space.allowed:
            search.ask(row[None, None])


class SwallowsTheEnd(OneByOne):
    """Catches everything and goes on."""

    name = "swallows"

    def _search(self, search):
        for row in search.space.allowed:
            try:
                search.ask(row[None, None])
            except BaseException:
                continue


class SwallowsTheEndQuietly(OneByOne):
    """Catches everything and says that all was tried."""

    name = "quiet"

    def _search(self, search):
        try:
            super()._search(search)
        except BaseException:
            return Ended("exhausted")


class AsksInFinally(OneByOne):
    name = "finally"

    def _search(self, search):
        try:
            super()._search(search)
        finally:
            search.ask(search.space.allowed[:1, None])


class ProbesInFinally(OneByOne):
    name = "probes-finally"

    def _search(self, search):
        try:
            super()._search(search)
        finally:
            search.probe(search.space.allowed[:1, None])


class LooksThroughTheMeterInExcept(OneByOne):
    name = "meter-except"

    def _search(self, search):
        try:
            super()._search(search)
        except BaseException:
            search.oracle.predict_proba([search.space.input])
            raise


class Yields(RandomSearch):
    """Written for an engine that walks through generators."""

    name = "yields"

    def _search(self, search):
        yield search.space.allowed[:, None]


class ReturnsItsCandidates(RandomSearch):
    name = "returns"

    def _search(self, search):
        return search.space.edits(search.space.allowed[:, None])


class DrawsGlobally(RandomSearch):
    """Its order comes from numbers that belong to everybody."""

    name = "global"

    def _search(self, search):
        order = torch.randperm(len(search.space.allowed))
        search.ask(search.space.allowed[order][:, None])


class ShufflesGlobally(RandomSearch):
    name = "shuffles"

    def _search(self, search):
        ids = search.space.allowed.tolist()
        random.shuffle(ids)
        search.ask(torch.tensor(ids)[:, None])


class AssignsToTheProblem(RandomSearch):
    name = "assigns"

    def _search(self, search):
        search.problem.stream = "mine"
        return super()._search(search)


class ForcesItsStream(RandomSearch):
    """Around the frozen dataclass; the same at every call, so that answers do not differ."""

    name = "forces"

    def _search(self, search):
        object.__setattr__(search.problem, "stream", "mine")
        return super()._search(search)


class ForcesItsGoal(RandomSearch):
    name = "goal"

    def _search(self, search):
        object.__setattr__(search.problem.goal, "before", (0.5, 0.5))
        return super()._search(search)


class SortsTheSpaceInPlace(RandomSearch):
    name = "space"

    def _search(self, search):
        search.space.allowed.copy_(search.space.allowed.flip(0))
        return super()._search(search)


class RoundsTheOutput(RandomSearch):
    name = "rounds"

    def _search(self, search):
        search.output.round_()
        return super()._search(search)


class IgnoresRules(RandomSearch):
    name = "rules"

    def explain(self, graph, *, constraints=Constraints(), **options):  # noqa: B008 - frozen
        return super().explain(graph, constraints=replace(constraints, rules=()), **options)


class BreaksALot(MovesNumPy, IgnoresKeep, AsksPastTheMeter, UnfreezesParameters, SortsTheEdges):
    name = "much"
