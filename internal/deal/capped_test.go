package deal

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestCapped: all samples are dealt, once; each client has its least; and no client gets
// another class when it has its even share.
func TestCapped(t *testing.T) {
	labels := someLabels(7000)
	d := &Dealer{Plan: Plan{Way: WayCapped, Alpha: 0.1, Clients: 20, MinSamples: 40}, Labels: labels, Classes: 10, Key: 3}
	dealt, err := d.Train()
	if err != nil {
		t.Fatal(err)
	}
	checkDealt(t, dealt, len(labels), lengthsOf(dealt))
	spread := 0.0
	for i, mix := range mixesOf(labels, dealt) {
		have := 0
		for c, n := range mix {
			// the last client gets what rounding down leaves, also when it is full
			if have >= len(labels)/20 && n > 0 && (i < 19 || n > 1) {
				t.Errorf("client %d had %d samples and got %d of class %d", i, have, n, c)
			}
			have += n
		}
		if have < 40 {
			t.Errorf("client %d has %d samples", i, have)
		}
		spread += math.Abs(float64(have)/350 - 1)
	}
	if sum(lengthsOf(dealt)) != 7000 || spread < 2 {
		t.Errorf("%d samples dealt; sizes %v", sum(lengthsOf(dealt)), lengthsOf(dealt))
	}
	other := *d
	other.Key = 4
	if again, err := other.Train(); err != nil || slices.EqualFunc(dealt, again, slices.Equal) {
		t.Errorf("another seed deals the same: %v", err)
	}
	d.Alpha, d.MinSamples = 1e-3, 300
	if _, err := d.Train(); err == nil || !strings.Contains(err.Error(),
		"in each of 1000 draws a client has fewer than data.min_samples = 300 samples") {
		t.Error(err)
	}
}

// TestBlocked: clients of one block hold the same classes, in the sizes that the rule
// allows.
func TestBlocked(t *testing.T) {
	labels := make([]int32, 7000)
	for i := range labels {
		labels[i] = int32(i % 10)
	}
	d := &Dealer{
		Plan:   Plan{Way: WayBlocked, ClientClasses: 2, Clients: 20, MinSamples: 10},
		Labels: labels, Classes: 10, Key: 3,
	}
	dealt, err := d.Train()
	if err != nil {
		t.Fatal(err)
	}
	checkDealt(t, dealt, len(labels), lengthsOf(dealt))
	for i, mix := range mixesOf(labels, dealt) {
		for c, n := range mix {
			switch {
			case (c/2 == i/4) != (n > 0):
				t.Errorf("client %d has %d samples of class %d", i, n, c)
			case n > 0 && i%4 < 3 && (n < 17 || n >= 175), n > 0 && i%4 == 3 && n < 700-3*174:
				t.Errorf("client %d has %d samples of class %d", i, n, c)
			}
		}
	}
	if sum(lengthsOf(dealt)) != 7000 {
		t.Errorf("%d samples dealt", sum(lengthsOf(dealt)))
	}
	for want, plan := range map[string]Plan{
		"has 10 classes":                     {ClientClasses: 11, Clients: 20},
		"too few for 400 clients":            {ClientClasses: 2, Clients: 2000},
		"fewer than data.min_samples = 1500": {ClientClasses: 2, Clients: 20, MinSamples: 1500},
	} {
		plan.Way = WayBlocked
		if _, err := (&Dealer{Plan: plan, Labels: labels, Classes: 10}).Train(); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func lengthsOf(dealt [][]int32) []int {
	sizes := make([]int, len(dealt))
	for i := range dealt {
		sizes[i] = len(dealt[i])
	}
	return sizes
}
