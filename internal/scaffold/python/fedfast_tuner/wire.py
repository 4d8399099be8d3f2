"""Messages of fedfast.tuner.v1 from and to what authors see."""

from fedfast_tuner import tuner_pb2 as pb
from fedfast_tuner import tuner
from fedfast_tuner.space import Dim

_KINDS = {
    pb.Dim.UNIFORM: "uniform", pb.Dim.LOG10: "log10", pb.Dim.LOG10_1M: "log10_1m", pb.Dim.INT: "int", pb.Dim.LOG2: "log2",
    pb.Dim.CHOICE: "choice",
}


def value(v):
    kind = v.WhichOneof("kind")
    return getattr(v, kind) if kind else None


def to_value(v):
    if isinstance(v, bool):
        return pb.Value(truth=v)
    if isinstance(v, str):
        return pb.Value(text=v)
    return pb.Value(number=float(v))


def _named(name, convert, v):
    """What v becomes. An error names the field."""
    try:
        return convert(v)
    except (TypeError, ValueError, AttributeError) as e:
        raise TypeError(f"{name} = {v!r:.60}: {e}") from None


def params(p):
    return {name: value(v) for name, v in p.values.items()}


def to_params(p):
    return pb.Params(values={name: _named(name, to_value, v) for name, v in p.items()})


def _note(x):
    return pb.Note(values=x if isinstance(x, (list, tuple)) else [x])


def plan(p):
    return pb.PlanRoundReply(
        server=to_params(p.server), clients=[to_params(c) for c in p.clients],
        notes={name: _named(f"note {name}", _note, x) for name, x in p.notes.items()},
    )


def dim(d):
    when = (d.when.parent, tuple(value(v) for v in d.when.values)) if d.HasField("when") else None
    return Dim(d.name, _KINDS.get(d.kind, ""), d.lo, d.hi, tuple(value(c) for c in d.choices), when)


def to_dim(d):
    kind = next(wire for wire, kind in _KINDS.items() if kind == d.kind)
    return pb.Dim(name=d.name, kind=kind, lo=d.lo, hi=d.hi, choices=[to_value(c) for c in d.choices])


def request(r, **more):
    return tuner.Request(
        space=[dim(d) for d in r.space.dims], options=params(r.options), rounds=r.budget.rounds, trial_rounds=r.budget.trial_rounds,
        maximize=r.objective.maximize, metric=r.objective.metric or "error", target=r.objective.target or "personalized", seconds=r.budget.seconds, updates=r.budget.updates,
        extra=[tuner.Objective(o.metric, o.target, o.maximize) for o in r.extra],
        constraints=[tuner.Constraint(c.metric, c.bound, c.least) for c in r.constraints], **more,
    )


def open_request(r):
    priors = [tuner.Prior(params(p.params), p.round, p.whole, dict(p.values)) for p in r.priors]
    return request(r, seed=r.seed, trial=r.trial, params=params(r.params), state=r.state if r.resume else None, priors=priors)


def description(t):
    return pb.DescribeReply(
        name=t.name, version=t.version, doc=t.doc, trials=t.trials, rounds=t.rounds, fork=t.fork, controls=t.controls,
        adds=[to_dim(d) for d in t.adds], probes=t.probes, scalars=t.scalars, architectures=t.architectures, seconds=t.seconds, jobs=t.jobs,
        multi=t.multi, constraints=t.constraints, priors=t.priors, needs_priors=t.needs_priors, conditions=t.conditions,
        options=[pb.DescribeReply.Option(name=o.name, default=to_value(o.default), doc=o.doc) for o in t.options],
    )


def decision(d):
    kind = getattr(pb.Decision, type(d).__name__.upper(), None)
    if kind is None:
        raise TypeError(f"{d!r:.60} is not a decision")
    w = pb.Decision(kind=kind)
    for name in ("trial", "source", "to_round", "best"):
        if hasattr(d, name):
            _named(name, lambda v: setattr(w, name, v), getattr(d, name))
    if hasattr(d, "params"):
        w.params.CopyFrom(to_params(d.params))
    return w
