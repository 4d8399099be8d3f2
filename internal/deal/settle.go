package deal

// settle changes quotas until no class is overdrawn: left[c] is what is left of
// class c, below 0 if the quotas ask for more than there is. A client keeps its
// size and its classes, within the bounds of each: it takes less of
// one class and more of another. So what is short of one class passes along a
// chain of clients to a class that has samples left, by shortest chains as in
// Edmonds and Karp's maximum flow. What no chain reaches is cut from the
// largest quotas of the class and returned.
func settle(quotas []quota, left []int) (short int) {
	holders := make([][]place, len(left))
	for i, q := range quotas {
		for j, c := range q.classes {
			holders[c] = append(holders[c], place{i, j})
		}
	}
	for c := range left {
		for left[c] < 0 {
			if !relieve(quotas, left, holders, c) {
				short -= left[c]
				for ; left[c] < 0; left[c]++ {
					cut(quotas, holders[c])
				}
			}
		}
	}
	return short
}

// place is a class of a client: the class number j of client i.
type place struct{ i, j int }

// step is how a chain comes to a class: client i takes less of its class number
// from and more of its class number to.
type step struct{ i, from, to int }

// relieve moves quotas along a shortest chain from class c to a class that has
// samples left; it returns false if there is none.
func relieve(quotas []quota, left []int, holders [][]place, c int) bool {
	came := make([]*step, len(left))
	queue := []int{c}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if left[at] > 0 {
			shift(quotas, left, came, c, at)
			return true
		}
		for _, p := range holders[at] {
			q := quotas[p.i]
			if q.counts[p.j] <= q.least[p.j] {
				continue
			}
			for to, next := range q.classes {
				if next != c && came[next] == nil && q.counts[to] < q.most[to] {
					came[next] = &step{p.i, p.j, to}
					queue = append(queue, next)
				}
			}
		}
	}
	return false
}

// shift moves as much as it can along the chain that came from class first to
// class last.
func shift(quotas []quota, left []int, came []*step, first, last int) {
	most := min(-left[first], left[last])
	for c := last; c != first; {
		s := came[c]
		q := &quotas[s.i]
		most = min(most, q.counts[s.from]-q.least[s.from], q.most[s.to]-q.counts[s.to])
		c = q.classes[s.from]
	}
	for c := last; c != first; {
		s := came[c]
		quotas[s.i].counts[s.from] -= most
		quotas[s.i].counts[s.to] += most
		c = quotas[s.i].classes[s.from]
	}
	left[first] += most
	left[last] -= most
}

// cut takes one sample from the largest quota of a class.
func cut(quotas []quota, holders []place) {
	largest := holders[0]
	for _, p := range holders[1:] {
		if quotas[p.i].counts[p.j] > quotas[largest.i].counts[largest.j] {
			largest = p
		}
	}
	quotas[largest.i].counts[largest.j]--
}
