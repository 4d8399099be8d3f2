"""What the author of a fedfast tuner imports: see tuner.py beside this folder.

The folder needs nothing but grpcio and protobuf (Debian: python3-grpcio). It is yours: copy it into other tuners of yours as it is.
"""

from fedfast_tuner.draws import Draws
from fedfast_tuner.serve import serve
from fedfast_tuner.space import Dim, check_options, contains, sample
from fedfast_tuner.tuner import (
    STUDY_SESSION,
    Done,
    Fork,
    Job,
    Option,
    Plan,
    Problem,
    Release,
    Request,
    Resume,
    Session,
    Start,
    Stop,
    Tuner,
    Wait,
)

__all__ = [
    "STUDY_SESSION", "Dim", "Done", "Draws", "Fork", "Job", "Option", "Plan", "Problem", "Release", "Request", "Resume", "Session", "Start",
    "Stop", "Tuner", "Wait", "check_options", "contains", "sample", "serve",
]
