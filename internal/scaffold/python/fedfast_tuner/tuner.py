"""What a tuner is: subclass Tuner and Session."""

from dataclasses import dataclass, field
from typing import NamedTuple

STUDY_SESSION = -1  # Request.trial of a session that decides about trials


class Option(NamedTuple):
    """A key that the study file may set under [tuner.options]; the default's type (number, bool, text) is the option's."""

    name: str
    default: object
    doc: str


class Problem(NamedTuple):
    """One thing that is wrong with a study, with the key that it is about, such as "budget.rounds" or "options.reach"."""

    key: str
    message: str


class Objective(NamedTuple):
    """A metric to optimize; lower is better unless maximize."""

    metric: str
    target: str
    maximize: bool


class Constraint(NamedTuple):
    """A bound on a metric: at most bound, or at least with least. Trials beyond it rank after all others."""

    metric: str
    bound: float
    least: bool


class Prior(NamedTuple):
    """A trial of a finished study after round rounds, all that it had with whole; values by metric."""

    params: dict
    round: int
    whole: bool
    values: dict


@dataclass(frozen=True)
class Request:
    """A study. space is a list of Dim in the order of their names; scores are better when lower unless maximize."""

    space: list
    options: dict
    rounds: int  # budget.rounds, all trials together
    trial_rounds: int  # budget.trial_rounds, one trial at most
    maximize: bool = False
    metric: str = "error"
    target: str = "personalized"
    seed: int = 0  # key every draw with it
    trial: int = STUDY_SESSION  # or the trial's number, for a client tuner
    params: dict = field(default_factory=dict)  # of the trial, for a client tuner
    state: object = None  # None, or what state() of an earlier session returned: go on from there
    extra: list = field(default_factory=list)  # of Objective: further ones, of a tuner with multi
    constraints: list = field(default_factory=list)  # of Constraint, of a tuner with constraints
    priors: list = field(default_factory=list)  # of Prior, of a tuner with priors
    seconds: bool = False  # rounds, trial_rounds, to_round and the round of a report are simulated seconds
    updates: bool = False  # they are updates that the server takes from clients


@dataclass(frozen=True)
class Start:
    """Run the new trial with params to to_round rounds, then report. New trials are numbered 0, 1, 2, ... in order."""

    trial: int
    params: dict
    to_round: int


@dataclass(frozen=True)
class Resume:
    """Run the paused trial on until it has run to_round rounds, then report."""

    trial: int
    to_round: int


@dataclass(frozen=True)
class Fork:
    """Copy the trial source as it is now as the new trial, with other params, run it to to_round, then report."""

    trial: int
    source: int
    params: dict
    to_round: int


@dataclass(frozen=True)
class Stop:
    """The trial gets no more rounds."""

    trial: int


@dataclass(frozen=True)
class Release:
    """The trial's snapshot is not needed again."""

    trial: int


@dataclass(frozen=True)
class Wait:
    """Nothing to do until the next report."""


@dataclass(frozen=True)
class Done:
    """The study is over; best is the tuner's choice, -1 for none."""

    best: int = -1


@dataclass(frozen=True)
class Plan:
    """The params of one round: clients holds one dict for all slots, or one for each.

    notes are for people, who see them in reports: numbers or short lists of numbers by name, 64 with 1,024 numbers at most.
    """

    clients: list
    server: dict = field(default_factory=dict)
    notes: dict = field(default_factory=dict)


class Job(NamedTuple):
    """Whose work a slot of an observation is: round and slot name the plan that it began with."""

    round: int
    slot: int  # 0 where the plan had the same params for all
    staleness: int  # steps of the server since that round
    weight: float  # what the server multiplies its change by for them
    fate: str  # empty, or for lost work "late", "vanished" or "stale"


class Tuner:
    """A tuner. Set the attributes, and write open, which returns a Session."""

    name = ""  # of the file fedfast-tuner-NAME
    version = "0.1.0"
    doc = ""  # one or two sentences for `fedfast tuner list`
    options = ()  # of Option
    trials = False  # it decides about trials
    rounds = False  # it is a client tuner: it sets hyperparameters round by round
    fork = False  # it may fork trials
    controls = ()  # params that a client tuner sets, such as "client.lr" or "client.*"
    adds = ()  # of Dim: dimensions of its own
    probes = ()  # per-slot probes that it uses, such as "val_error_after"
    scalars = ()  # per-slot scalars that it needs, such as "examples_val", or "client_key": who sits in the slots
    architectures = False  # a model's choices join its space as dimensions client.arch.NAME
    multi = False  # it takes several objectives, see Request.extra
    constraints = False  # it takes constraints, see Request.constraints
    priors = False  # it takes trials of finished studies, see Request.priors
    needs_priors = False  # it suggests nothing without such trials that ran all their rounds
    conditions = False  # it takes dimensions with a condition, see Dim.when
    seconds = False  # it takes budgets in simulated seconds and in updates, see Request.seconds
    jobs = False  # as a client tuner it follows jobs from one round to another, see Session.jobs

    def validate(self, request):
        """Every Problem of a study, beyond what is wrong with the options' names and types."""
        return []

    def open(self, request):
        """A new Session; one with request.state goes on from there."""
        raise NotImplementedError


class Session:
    """One conversation about a study, or about one trial of it. Calls come one after the other."""

    values = {}  # in report, of several objectives or with constraints: the trial's by metric
    jobs = ()  # in observe_round, of a tuner with jobs: for each slot the Job whose work it is, where clients may be late or lost; else empty
    oldest = 0  # in observe_round: the first round of whose plan a job has not ended
    client_keys = ()  # in plan_round, of a tuner whose scalars have "client_key": for each slot a number for its client, the same in all rounds

    def suggest(self, n):
        """What to do next, a list of decisions; n is the number of trials that the study keeps in flight."""
        raise NotImplementedError("this tuner decides about no trials")

    def report(self, trial, round, score, failed, reason):
        """The score of a trial that reached its round; when failed it cannot go on and the score is nan."""
        raise NotImplementedError("this tuner decides about no trials")

    def plan_round(self, trial, round, slots, test):
        """The Plan of a round, counted from 0. With test it is for an evaluation and must change nothing."""
        raise NotImplementedError("this tuner plans no rounds")

    def observe_round(self, trial, round, slots, aggregates):
        """How the planned round went: slots is a list of dicts of probes, None for a client that was dropped: leave it out."""
        raise NotImplementedError("this tuner plans no rounds")

    def state(self):
        """Bytes, at most 16 MiB, from which open goes on as if nothing had happened: everything that the session knows."""
        raise NotImplementedError
