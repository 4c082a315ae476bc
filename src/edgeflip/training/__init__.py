"""What is trained once: oracles, fitted explainers, and the demo of both."""

from edgeflip.training.demo import (
    run_demo,
)
from edgeflip.training.fitting import (
    Fit,
    data_checksum,
    fit_once,
    fitted_explainer,
    links_once,
)
from edgeflip.training.oracles import (
    load_oracle,
    oracle_data,
    oracle_for,
    save_oracle,
    train_and_save,
)
from edgeflip.training.reports import (
    OracleData,
    TrainingReport,
)
from edgeflip.training.train import (
    train_oracle,
)

__all__ = [
    "Fit",
    "OracleData",
    "TrainingReport",
    "data_checksum",
    "fit_once",
    "fitted_explainer",
    "links_once",
    "load_oracle",
    "oracle_data",
    "oracle_for",
    "run_demo",
    "save_oracle",
    "train_and_save",
    "train_oracle",
]
