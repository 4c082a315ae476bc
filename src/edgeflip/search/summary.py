"""An answer in plain words, from facts only."""

from __future__ import annotations

from typing import TYPE_CHECKING

# Further answers that a summary tells.
_SHOWN = 4

# Per cent below which a share is not told exactly.
_LEAST_SHARE = 0.01

if TYPE_CHECKING:
    from edgeflip.core import EditSpace
    from edgeflip.search.result import Certificate, Counterfactual, CounterfactualSet


def summary(answer: CounterfactualSet) -> str:
    """What was found, what is proven, and what it took, a sentence each."""
    told = [_outcome(answer), _proof(answer), _believed(answer), _best(answer), _others(answer)]
    told.append(_effort(answer))
    told += [_looked_at(answer), *_warnings(answer)]
    return " ".join(sentence for sentence in told if sentence)


def _outcome(answer: CounterfactualSet) -> str:
    before, smallest = answer.goal.describe(answer.output), answer.smallest
    if smallest is None:
        reason = answer.trace.message or answer.trace.status.replace("_", " ")
        # An error that is passed on ends as a sentence does.
        return f"Found no edits that turn {before} into {answer.goal.wanted}: {reason.rstrip('.')}."
    after = answer.goal.describe(smallest.output)
    # What is asked of a value does not show in the value itself.
    asked = f"; wanted was {answer.goal.wanted}" if hasattr(answer.goal, "threshold") else ""
    said = f"{_phrase(answer, smallest)} turns {before} into {after}{asked}{_but(smallest)}."
    return f"{said} {_convinced(answer)}".strip()


def _convinced(answer: CounterfactualSet) -> str:
    """How many models changed their mind, where several were asked."""
    models, agree = (answer.provenance.selection.get(name) for name in ("models", "agree"))
    if not isinstance(models, int) or not isinstance(agree, int):
        return ""
    if models == 1:
        return ""
    everybody = "both" if models == 2 else f"all {models}"
    who = f"{agree} of {models}" if agree < models else everybody
    return f"It does for {who} models; told is the one that was hardest to convince."


def _but(entry: Counterfactual, *, shortly: bool = False) -> str:
    """What speaks against the input after the edits, to end a sentence."""
    if entry.fault:
        return f" ({fault_in_short(entry)})" if shortly else f": {entry.fault}"
    return ", leaving the graph in more parts" if entry.disconnects else ""


def fault_in_short(entry: Counterfactual) -> str:
    """What is wrong with the input after the edits, without why; empty where nothing is."""
    return "; ".join(part.partition(",")[0] for part in (entry.fault or "").split("; ") if part)


def _phrase(answer: CounterfactualSet, entry: Counterfactual) -> str:
    text = answer.space.in_words(entry.edits)
    return f"{text[:1].upper()}{text[1:]}"


def _believed(answer: CounterfactualSet) -> str:
    """How far it can be believed, where somebody looked."""
    entry = answer.smallest
    return "" if entry is None or entry.trust is None else str(entry.trust)


def _best(answer: CounterfactualSet) -> str:
    """The answer that ranks first, where it is another than the smallest."""
    best, smallest = answer.best, answer.smallest
    if best is None or smallest is None or best.edits == smallest.edits:
        return ""
    size = counted_edits(best.size)
    phrase = answer.space.in_words(best.edits)
    after = answer.goal.describe(best.output)
    return f"The best-scored answer has {size}: {phrase} gives {after}{_but(best)}."


def _others(answer: CounterfactualSet) -> str:
    """The further answers, where several different ones were asked for."""
    number = answer.provenance.selection.get("number")
    if not isinstance(number, int) or number < 2:
        return ""
    told = [entry and entry.edits for entry in (answer.smallest, answer.best)]
    others = [entry for entry in answer.counterfactuals if entry.edits not in told]
    if not others:
        return ""
    phrases = [
        f"{answer.space.in_words(entry.edits)} gives {answer.goal.describe(entry.output)}"
        f"{_but(entry, shortly=True)}"
        for entry in others[:_SHOWN]
    ]
    more = f"; {len(others) - _SHOWN} more are in answer.counterfactuals" if others[_SHOWN:] else ""
    return f"Or else: {'; '.join(phrases)}{more}."


def _proof(answer: CounterfactualSet) -> str:
    return proof_in_words(answer, answer.smallest)


def proof_in_words(answer: CounterfactualSet, entry: Counterfactual | None) -> str:
    """What is known of smaller sets than a counterfactual's, in a sentence."""
    proof = answer.certificate
    if entry is not None and entry.cost == 1:
        return "Nothing smaller exists."
    if answer.smallest is not None and entry is not None and answer.smallest.cost < entry.cost:
        return f"A smaller one exists, of {counted_edits(answer.smallest.cost)}."
    if proof is None or proof.below <= 1:
        return "" if entry is None else "Smaller sets of edits were not all tried."
    tried, largest = sum(proof.tried), proof.below - 1
    subject = "No single edit" if largest == 1 else f"No set of up to {largest} edits"
    under = f" {words}" if (words := _under(answer, proof)) else ""
    if not tried:
        return f"{subject} is allowed{under}."
    sets = "it was" if tried == 1 else f"all {tried:,} were"
    if largest >= answer.space.max_cost:
        return f"Nothing that is allowed{under} does: {sets} tried."
    gap = entry is not None and entry.cost > proof.below
    open_end = " Larger sets were tried only in part." if gap else ""
    return f"{subject} does{under}: {sets} tried.{open_end}"


def conditions_of(space: EditSpace) -> str:
    """The constraints of a space in words, where it can tell."""
    return str(getattr(space, "conditions", ""))


def _under(answer: CounterfactualSet, proof: Certificate) -> str:
    """What a proof holds under, in few words where the space has them; `proof.within` is exact."""
    short = str(getattr(answer.space, "conditions_in_short", ""))
    if short and proof.within == conditions_of(answer.space):
        return short
    return f"(with {proof.within})" if proof.within else ""


def counted_edits(count: int) -> str:
    """A number of edits: `1 edit`, `2 edits`."""
    return f"{count} edit{'s'[: count != 1]}"


def _effort(answer: CounterfactualSet) -> str:
    asked, models = answer.trace.oracle_calls, answer.provenance.selection.get("models", 1)
    who = "The model was" if models == 1 else f"Each of {models} models was"
    return f"{who} asked about {asked:,} graph{'s'[: asked != 1]}."


def _looked_at(answer: CounterfactualSet) -> str:
    """How many of the edits that may be made were looked at, where they are a small part."""
    notes = answer.trace.notes
    seen, allowed = notes.get("rated", notes.get("pool")), notes.get("allowed")
    if not isinstance(seen, int) or not isinstance(allowed, int) or 2 * seen > allowed:
        return ""
    share = 100 * seen / allowed
    told = f"{share:.2g} %" if share >= _LEAST_SHARE else f"less than {_LEAST_SHARE} %"
    return f"Of {allowed:,} edits that are allowed, {seen:,} were looked at ({told})."


def _warnings(answer: CounterfactualSet) -> list[str]:
    """What the answer should not be read without."""
    warnings = answer.trace.notes.get("warnings", [])
    return [str(warning) for warning in warnings]
