"""The methods, one file or folder each, the contract they keep, and where they are found by name."""

from typing import TYPE_CHECKING

from edgeflip._lazy import lazily

if TYPE_CHECKING:
    from edgeflip.explainers.base import CounterfactualExplainer
    from edgeflip.explainers.checking import allowance
    from edgeflip.explainers.dr_cfgnn import DRCFGNN, DRCFGNNConfig, PublishedCode
    from edgeflip.explainers.edgeflip import EdgeFlip, EdgeFlipConfig
    from edgeflip.explainers.gcfexplainer import Aim, GCFExplainer, Summary, asker, summarize
    from edgeflip.explainers.interruption import SearchInterrupted
    from edgeflip.explainers.many import (
        Explained,
        Failure,
        FolderReport,
        GraphsFailedError,
        explain_into,
        explain_stream,
        read_answers,
    )
    from edgeflip.explainers.one_line import explain
    from edgeflip.explainers.options import OPTIONS, ExplainOptions
    from edgeflip.explainers.registry import (
        check_method,
        explainer_class,
        list_explainers,
        load_explainer,
        make_explainer,
    )
    from edgeflip.explainers.replacing import Replacement, ReplacingExplainer
    from edgeflip.explainers.with_links import LinkExplainer

# Each name with the file it comes from: a method is loaded when it is used.
_FILE = {
    "Aim": "edgeflip.explainers.gcfexplainer",
    "CounterfactualExplainer": "edgeflip.explainers.base",
    "DRCFGNN": "edgeflip.explainers.dr_cfgnn",
    "DRCFGNNConfig": "edgeflip.explainers.dr_cfgnn",
    "EdgeFlip": "edgeflip.explainers.edgeflip",
    "EdgeFlipConfig": "edgeflip.explainers.edgeflip",
    "ExplainOptions": "edgeflip.explainers.options",
    "Explained": "edgeflip.explainers.many",
    "Failure": "edgeflip.explainers.many",
    "FolderReport": "edgeflip.explainers.many",
    "GCFExplainer": "edgeflip.explainers.gcfexplainer",
    "GraphsFailedError": "edgeflip.explainers.many",
    "LinkExplainer": "edgeflip.explainers.with_links",
    "OPTIONS": "edgeflip.explainers.options",
    "PublishedCode": "edgeflip.explainers.dr_cfgnn",
    "Replacement": "edgeflip.explainers.replacing",
    "ReplacingExplainer": "edgeflip.explainers.replacing",
    "SearchInterrupted": "edgeflip.explainers.interruption",
    "Summary": "edgeflip.explainers.gcfexplainer",
    "allowance": "edgeflip.explainers.checking",
    "asker": "edgeflip.explainers.gcfexplainer",
    "check_method": "edgeflip.explainers.registry",
    "explain": "edgeflip.explainers.one_line",
    "explain_into": "edgeflip.explainers.many",
    "explain_stream": "edgeflip.explainers.many",
    "explainer_class": "edgeflip.explainers.registry",
    "list_explainers": "edgeflip.explainers.registry",
    "load_explainer": "edgeflip.explainers.registry",
    "make_explainer": "edgeflip.explainers.registry",
    "read_answers": "edgeflip.explainers.many",
    "summarize": "edgeflip.explainers.gcfexplainer",
}

__all__ = [
    "DRCFGNN",
    "OPTIONS",
    "Aim",
    "CounterfactualExplainer",
    "DRCFGNNConfig",
    "EdgeFlip",
    "EdgeFlipConfig",
    "ExplainOptions",
    "Explained",
    "Failure",
    "FolderReport",
    "GCFExplainer",
    "GraphsFailedError",
    "LinkExplainer",
    "PublishedCode",
    "Replacement",
    "ReplacingExplainer",
    "SearchInterrupted",
    "Summary",
    "allowance",
    "asker",
    "check_method",
    "explain",
    "explain_into",
    "explain_stream",
    "explainer_class",
    "list_explainers",
    "load_explainer",
    "make_explainer",
    "read_answers",
    "summarize",
]

__getattr__ = lazily(__name__, _FILE)
