"""Other outlier detectors to compare with: HiCS and ALSO, as scikit-learn estimators."""

from admercs.baselines.also import ALSO
from admercs.baselines.hics_detector import HiCS

__all__ = ["ALSO", "HiCS"]
