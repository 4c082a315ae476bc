"""Many graphs: answers that stream, into a folder too, whoever works on them."""

from edgeflip.explainers.many.explained import Explained, Failure, GraphsFailedError
from edgeflip.explainers.many.folder import AnswerFolder, read_answers
from edgeflip.explainers.many.stream import How, explain_elsewhere, explain_stream
from edgeflip.explainers.many.writing import FolderReport, explain_into

__all__ = [
    "AnswerFolder",
    "Explained",
    "Failure",
    "FolderReport",
    "GraphsFailedError",
    "How",
    "explain_elsewhere",
    "explain_into",
    "explain_stream",
    "read_answers",
]
