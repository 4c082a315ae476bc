"""Who does the work of many tasks: this process, several, or a cluster; the same results whoever does."""

from edgeflip.engines.job import Job
from edgeflip.engines.local import Pool
from edgeflip.engines.tasks import ENGINES, Crew, Engine, check_engine, crew
from edgeflip.engines.worker import deadline

__all__ = [
    "ENGINES",
    "Crew",
    "Engine",
    "Job",
    "Pool",
    "check_engine",
    "crew",
    "deadline",
]
