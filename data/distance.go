package data

import (
	"math"

	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/internal/list"
)

// Distances tell how far the classes of clients' training, validation and test
// examples differ.
type Distances struct {
	TrainVal  Distance `json:"train_val"`
	TrainTest Distance `json:"train_test"`
	ValTest   Distance `json:"val_test"`
}

// Distance is the total variation between the class shares of two parts of a
// client's examples, half the sum of the absolute differences: 0 for equal shares,
// 1 for parts without a common class.
type Distance struct {
	// Clients is the number of clients that have examples of both parts; the others
	// do not count.
	Clients int `json:"clients"`
	// Mean and Max are over these clients.
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
	// Random is the mean if the examples of each client had been cut at random:
	// what parts of these sizes differ by chance.
	Random float64 `json:"mean_of_random_parts"`
}

// ClassDistances measures the clients of a federation. It reads the labels of all
// their examples; the error is as in View.Fill.
func ClassDistances(fed *Federation) (Distances, error) {
	var d Distances
	for i := range fed.Clients {
		c := &fed.Clients[i]
		parts := [3]View{c.Train, c.Val, c.Test}
		all := c.Train.join(c.Val).join(c.Test)
		places := all.places()
		draw.New(uint64(i), draw.Order).Shuffle(places)
		var own, random [3][]float64
		for j, v := range parts {
			var err error
			if own[j], err = classShares(v, fed.Classes); err != nil {
				return d, err
			}
			if random[j], err = classShares(chosen(all.src, places[:v.Len()]), fed.Classes); err != nil {
				return d, err
			}
			places = places[v.Len():]
		}
		d.TrainVal.add(own[0], own[1], random[0], random[1])
		d.TrainTest.add(own[0], own[2], random[0], random[2])
		d.ValTest.add(own[1], own[2], random[1], random[2])
	}
	for _, of := range []*Distance{&d.TrainVal, &d.TrainTest, &d.ValTest} {
		if of.Clients > 0 {
			of.Mean /= float64(of.Clients)
			of.Random /= float64(of.Clients)
		}
	}
	return d, nil
}

// LabelSkew returns how far the class shares of each client's training examples are from those of all
// clients' together: half the sum of the absolute differences, 0 for equal shares. It is nil where examples
// do not have one class each, and for a Lazy federation. The error is as in View.Fill.
func LabelSkew(fed *Federation) ([]float64, error) {
	if fed.Target != OneClass || fed.EveryStep || fed.Lazy {
		return nil, nil
	}
	total, whole, skew := 0, make([]float64, fed.Classes), make([]float64, len(fed.Clients))
	for i := range fed.Clients {
		total += fed.Clients[i].Train.Len()
	}
	for i := range 2 * len(skew) { // first for all together, then for each
		v := fed.Clients[i%len(skew)].Train
		own, err := classShares(v, fed.Classes)
		if err != nil {
			return nil, err
		}
		for class, share := range own {
			if i < len(skew) {
				whole[class] += share * float64(v.Len()) / float64(total)
			} else {
				skew[i-len(skew)] += math.Abs(share-whole[class]) / 2
			}
		}
	}
	return skew, nil
}

// add counts a client by the class shares of two of its parts, and of two random
// ones of their sizes.
func (d *Distance) add(a, b, randomA, randomB []float64) {
	if a == nil || b == nil {
		return
	}
	apart := totalVariation(a, b)
	d.Clients++
	d.Mean += apart
	d.Max = max(d.Max, apart)
	d.Random += totalVariation(randomA, randomB)
}

// totalVariation returns half the sum of the absolute differences of two lists.
func totalVariation(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += math.Abs(a[i]-b[i]) / 2
	}
	return sum
}

// classShares returns which part of v's labels each class has; nil without labels.
func classShares(v View, classes int) ([]float64, error) {
	counts, err := v.ClassCounts(classes)
	if err != nil {
		return nil, err
	}
	total := list.Sum(counts, func(n int) int { return n })
	if total == 0 {
		return nil, nil
	}
	shares := list.Of(counts, func(n int) float64 { return float64(n) / float64(total) })
	return shares, nil
}
