// A module of its own, so that fedfast needs nothing of GoMLX.
module gomlx

go 1.25.0

require github.com/gomlx/gomlx v0.26.0
