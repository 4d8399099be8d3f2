package methods

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
)

// rolexHidden is the number of hidden units of the network that TestFedRolexByHand trains.
const rolexHidden = 8

// perceptron is a network of two hidden layers in float64, weights [out][in] and biases.
type perceptron struct {
	w [3][][]float64
	b [3][]float64
}

// perceptronOf reads the parameters of a model.
func perceptronOf(m *nn.Model, weights []float32) (p perceptron) {
	for i, tensor := range m.Export(weights) {
		if i%2 == 1 {
			for _, x := range tensor.Data {
				p.b[i/2] = append(p.b[i/2], float64(x))
			}
			continue
		}
		in := tensor.Shape[1]
		for row := range tensor.Shape[0] {
			var line []float64
			for _, x := range tensor.Data[row*in:][:in] {
				line = append(line, float64(x))
			}
			p.w[i/2] = append(p.w[i/2], line)
		}
	}
	return p
}

// rolexUnits returns the hidden units that a client of a width has in a round.
func rolexUnits(width float64, round int) (units []int) {
	for k := range int(math.Ceil(width * rolexHidden)) {
		units = append(units, (k+round)%rolexHidden)
	}
	return units
}

// step takes a step of SGD on the mean cross entropy with the hidden units alone. What the
// second layer gives is divided by the root of the width, since its input is cut and no
// normalization follows; that of the first, whose input is whole, is not. The logits of classes
// that the client lacks are 0.
func (p *perceptron) step(x [][]float64, labels []int32, has []bool, units []int, lr float64) {
	scale := math.Sqrt(float64(rolexHidden) / float64(len(units)))
	classes := len(p.b[2])
	var grad perceptron
	for l := range p.w {
		grad.b[l] = make([]float64, len(p.b[l]))
		for range p.w[l] {
			grad.w[l] = append(grad.w[l], make([]float64, len(p.w[l][0])))
		}
	}
	for i, input := range x {
		first, second := make([]float64, rolexHidden), make([]float64, rolexHidden)
		for _, u := range units {
			first[u] = p.b[0][u]
			for j, v := range input {
				first[u] += p.w[0][u][j] * v
			}
			first[u] = max(0, first[u])
		}
		for _, u := range units {
			second[u] = p.b[1][u]
			for _, v := range units {
				second[u] += p.w[1][u][v] * first[v]
			}
			second[u] = max(0, second[u]) * scale
		}
		z, sum := make([]float64, classes), 0.0
		for c := range z {
			if has[c] {
				z[c] = p.b[2][c]
				for _, u := range units {
					z[c] += p.w[2][c][u] * second[u]
				}
			}
			sum += math.Exp(z[c])
		}
		toSecond, toFirst := make([]float64, rolexHidden), make([]float64, rolexHidden)
		for c := range z {
			if !has[c] {
				continue
			}
			d := math.Exp(z[c]) / sum
			if int(labels[i]) == c {
				d--
			}
			d /= float64(len(x))
			grad.b[2][c] += d
			for _, u := range units {
				grad.w[2][c][u] += d * second[u]
				toSecond[u] += d * p.w[2][c][u]
			}
		}
		for _, u := range units {
			if second[u] <= 0 {
				continue
			}
			d := toSecond[u] * scale
			grad.b[1][u] += d
			for _, v := range units {
				grad.w[1][u][v] += d * first[v]
				toFirst[v] += d * p.w[1][u][v]
			}
		}
		for _, u := range units {
			if first[u] <= 0 {
				continue
			}
			grad.b[0][u] += toFirst[u]
			for j, v := range input {
				grad.w[0][u][j] += toFirst[u] * v
			}
		}
	}
	for l := range p.w {
		for o := range p.w[l] {
			p.b[l][o] -= lr * grad.b[l][o]
			for j := range p.w[l][o] {
				p.w[l][o][j] -= lr * grad.w[l][o][j]
			}
		}
	}
}

// TestFedRolexByHand trains rounds of FedRolex in float64 with nothing of nn: units that move on
// by one per round, the scale of a narrow layer, and for each weight the mean over those that hold
// it.
func TestFedRolexByHand(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 24, 20)
	m, err := nn.NewModel("perceptron", nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes,
		nn.Dense{Units: rolexHidden}, nn.ReLU{}, nn.Dense{Units: rolexHidden}, nn.ReLU{}, nn.Dense{Units: fed.Classes})
	if err != nil {
		t.Fatal(err)
	}
	const steps, lr = 2, 0.05
	e := newEngine(t, fl.Config{Model: m, Data: fed, Method: fedRolex(), Cohort: 5, Seed: 4, Widths: slicedWidths})
	for _, weighted := range []bool{false, true} {
		tr := e.NewTrial(0)
		c, s := fedRolex().Defaults()
		s.Weighted = weighted
		plan := fl.Plan{Server: s, Clients: []fl.ClientParams{fullBatch(c, lr, steps)}}
		for round := range rolexHidden + 2 {
			start := perceptronOf(m, tr.Weights())
			slots := runRounds(t, tr, plan, 1)[0].Slots
			// sum and held are, of each weight and bias, over those that hold it.
			sum, held := perceptronOf(m, m.NewParams()), perceptronOf(m, m.NewParams())
			for _, slot := range slots {
				units := rolexUnits(slicedWidths[slot.Client%len(slicedWidths)], round)
				b := fltest.Batch(t, m, fed.Clients[slot.Client].Train)
				var x [][]float64
				has, size := make([]bool, fed.Classes), len(b.X)/b.N
				for i := range b.N {
					var input []float64
					for _, v := range b.X[i*size:][:size] {
						input = append(input, float64(v))
					}
					x, has[b.Labels[i]] = append(x, input), true
				}
				p := clonePerceptron(start)
				for range steps {
					p.step(x, b.Labels, has, units, lr)
				}
				weight := 1.0
				if weighted {
					weight = float64(slot.TrainExamples)
				}
				var classes, inputs []int
				for class, ok := range has {
					if ok {
						classes = append(classes, class)
					}
				}
				for j := range size {
					inputs = append(inputs, j)
				}
				for l, parts := range [3][2][]int{{units, inputs}, {units, units}, {classes, units}} {
					for _, o := range parts[0] {
						sum.b[l][o] += weight * p.b[l][o]
						held.b[l][o] += weight
						for _, j := range parts[1] {
							sum.w[l][o][j] += weight * p.w[l][o][j]
							held.w[l][o][j] += weight
						}
					}
				}
			}
			end := perceptronOf(m, tr.Weights())
			check := func(got, before, sum, held float64, what string, l, o int) {
				t.Helper()
				want := before
				if held > 0 {
					want = sum / held
				}
				if math.Abs(got-want) > 2e-5 {
					t.Fatalf("weighted %v, round %d: %s of layer %d, output %d: %v, want %v", weighted, round, what, l, o, got, want)
				}
			}
			for l := range end.w {
				for o := range end.w[l] {
					check(end.b[l][o], start.b[l][o], sum.b[l][o], held.b[l][o], "bias", l, o)
					for j := range end.w[l][o] {
						check(end.w[l][o][j], start.w[l][o][j], sum.w[l][o][j], held.w[l][o][j], "a weight", l, o)
					}
				}
			}
		}
	}
}

// clonePerceptron copies a network.
func clonePerceptron(p perceptron) (q perceptron) {
	for l := range p.w {
		q.b[l] = append(q.b[l], p.b[l]...)
		for _, line := range p.w[l] {
			q.w[l] = append(q.w[l], append([]float64(nil), line...))
		}
	}
	return q
}
