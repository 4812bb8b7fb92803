import numpy as np

from admercs.density.plans import plan_target, restrict

from .tools import make_forest


def slots_by_walking(forest, target, plan):
    """Climb from each leaf to the root and note the nodes that are slots."""
    slot_of = {int(node): slot for slot, node in enumerate(plan.nodes)}
    return [
        [slot_of[node] for node in forest.path(int(leaf)) if node in slot_of]
        for leaf in forest.leaves(target)
    ]


def slots_by_plan(plan):
    return [
        plan.slot_of[plan.slot_ptr[leaf] : plan.slot_ptr[leaf + 1]].tolist()
        for leaf in range(plan.n_leaves)
    ]


def test_slots_are_the_scorers_and_the_root():
    # Tree 0 has nodes 0 … 8; leaves 2 and 4 are judged by their ancestor 1.
    forest = make_forest(5, 1, scorers={2: 1, 3: 1})
    plan = plan_target(forest, 0)
    assert plan.nodes.tolist() == [0, 1, 5, 7, 8]
    assert slots_by_plan(plan) == slots_by_walking(forest, 0, plan)
    stump = plan_target(forest, 1)
    assert stump.nodes.tolist() == [9]
    assert slots_by_plan(stump) == [[0]]


def test_every_leaf_finds_its_slots_in_larger_trees():
    forest = make_forest(23, 64, 7, scorers={45: 45})
    for target in range(3):
        plan = plan_target(forest, target)
        assert slots_by_plan(plan) == slots_by_walking(forest, target, plan)


def test_a_restricted_plan_keeps_the_chosen_slots():
    forest = make_forest(6)
    plan = plan_target(forest, 0)
    part = restrict(plan, np.array([0, 3]))
    assert part.nodes.tolist() == plan.nodes[[0, 3]].tolist()
    assert slots_by_plan(part) == slots_by_walking(forest, 0, part)
