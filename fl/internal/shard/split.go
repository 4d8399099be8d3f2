package shard

// Group is the number of neighbouring slots that are summed as one chain. A round is
// summed as a tree that only the size of its cohort decides. Its leaves are groups, each
// one chain in the order of tasks; neighbours are added up two by two, then the sums of
// those, where one without a neighbour goes up as it is. So a cohort can be split between
// any two groups.
const Group = 16

// Span are the slots of a cohort from Lo to before Hi.
type Span struct{ Lo, Hi int }

// Split splits a cohort into n shards or more, if it has at least n groups, and as few as
// that allows. Each shard is a subtree of the tree of sums.
func Split(cohort, n int) []Span {
	size := Group
	for (cohort+2*size-1)/(2*size) >= n {
		if size >= cohort {
			break
		}
		size *= 2
	}
	var spans []Span
	for lo := 0; lo < cohort; lo += size {
		spans = append(spans, Span{lo, min(lo+size, cohort)})
	}
	return spans
}
