"""Search spaces: dimensions, points, and what is wrong with them."""

import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Dim:
    """One dimension. lo and hi are its ends on the drawn scale s, both included.

    kind is "uniform" (x = s), "log10" (x = 10^s), "log10_1m" (x = 1 - 10^s), "int" (x = s, whole), "log2" (x = 2^s, s whole) or "choice"
    (one of choices).
    """

    name: str
    kind: str
    lo: float = 0.0
    hi: float = 0.0
    choices: tuple = field(default=())
    when: object = None  # (name, values): it belongs to the points alone whose value of that choice is among these

    def value(self, s):
        """The value at s of the drawn scale; not for choices."""
        if self.kind == "log10":
            return 10.0**s
        if self.kind == "log10_1m":
            return 1.0 - 10.0**s
        if self.kind == "log2":
            return 2.0**s
        return float(s)

    def sample(self, u):
        """The value for u, uniform in [0, 1)."""
        if self.kind == "choice":
            return self.choices[min(int(u * len(self.choices)), len(self.choices) - 1)]
        if self.kind in ("int", "log2"):
            return self.value(min(self.lo + math.floor(u * (self.hi - self.lo + 1)), self.hi))
        return self.value(self.lo + u * (self.hi - self.lo))

    def contains(self, value):
        """Whether value is one of the dimension's."""
        if self.kind == "choice":
            return any(value == c and isinstance(value, bool) == isinstance(c, bool) for c in self.choices)
        if isinstance(value, (bool, str)):
            return False
        ends = sorted((self.value(self.lo), self.value(self.hi)))
        slack = 1e-9 * max(abs(ends[0]), abs(ends[1]))
        if not ends[0] - slack <= value <= ends[1] + slack:
            return False
        if self.kind == "int":
            return value == math.trunc(value)
        return self.kind != "log2" or math.frexp(value)[0] == 0.5


def sample(space, draws):
    """A point of the space: a dict with a value for each dimension.

    Those of clients and server are drawn first, in the order of their names, then the others, which client
    tuners add: so the former are the same with a client tuner and without.
    """
    drawn = sorted(space, key=lambda dim: not dim.name.startswith(("client.", "server.")))
    return active(space, {dim.name: dim.sample(draws.uniform()) for dim in drawn})


def active(space, values):
    """The point that values of all dimensions stand for: without those whose condition it does not meet."""
    dims = {dim.name: dim for dim in space}

    def meets(dim):
        return dim.when is None or values.get(dim.when[0]) in dim.when[1] and meets(dims[dim.when[0]])

    return {name: value for name, value in values.items() if name not in dims or meets(dims[name])}


def contains(space, point):
    """Whether point has a value of each dimension whose condition it meets and nothing else."""
    dims = {dim.name: dim for dim in space}
    everything = {dim.name: point.get(dim.name) for dim in space}
    return set(point) == set(active(space, everything)) and all(dims[name].contains(point[name]) for name in point)


def check_options(tuner, options):
    """What is wrong with a study's options: (key, message) of each that is unknown, of another kind than its default or not finite."""
    known = {o.name: o.default for o in tuner.options}
    problems = []
    for name, value in sorted(options.items()):
        if name not in known:
            problems.append((f"options.{name}", f"{tuner.name} has no option {name!r}; it has {', '.join(known) or 'none at all'}"))
        elif _kind(value) != _kind(known[name]):
            problems.append((f"options.{name}", f"{name} must be {_kind(known[name])}, such as {known[name]}, not {value!r}"))
        elif isinstance(value, float) and not math.isfinite(value):
            problems.append((f"options.{name}", f"{name} must be finite, not {value}"))
    return problems


def _kind(value):
    if isinstance(value, bool):
        return "true or false"
    return "a string" if isinstance(value, str) else "a number"
