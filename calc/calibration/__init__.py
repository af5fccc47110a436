"""What engines reach (F3.12): constants fitted on measurements, and how far they can be trusted.

`fit` gives constants of one's own engine from its measurements, `fit_class` those of a class;
`predict` and `errors` say what constants give and how far off they are, `left_out` what a class
predicts for a source that it has not seen; `band` how far a calibrated time may be off, `edges` the
same of many steps.
"""

from calc.calibration.bands import Range, band, basis, edges, no_band, no_class
from calc.calibration.classes import fit_class, left_out
from calc.calibration.fitting import FEW_ROWS, CalibrationError, Fit, errors, fit, predict

__all__ = [
    "FEW_ROWS", "CalibrationError", "Fit", "Range", "band", "basis", "edges", "errors", "fit",
    "fit_class", "left_out", "no_band", "no_class", "predict",
]  # fmt: skip
