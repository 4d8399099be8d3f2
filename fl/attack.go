package fl

import (
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

var signFlip = Transform{
	Name: "sign_flip", Stage: StageAttack, Uses: []string{"update.strength"}, Strength: 1,
	Doc:   "attackers send their update times -strength (1)",
	Apply: func(u *Upload) { kernels.Scale(u.Values, float32(-u.strength())) },
}

var scaled = Transform{
	Name: "scaled", Stage: StageAttack, Uses: []string{"update.strength"}, Strength: 10,
	Doc:   "attackers send their update times strength (10)",
	Apply: func(u *Upload) { kernels.Scale(u.Values, float32(u.strength())) },
}

var gaussian = Transform{
	Name: "gaussian", Stage: StageAttack, Uses: []string{"update.strength"}, Strength: 1,
	Doc: "attackers send Gaussian noise with, on average, the squared norm of their update, times strength (1)",
	Apply: func(u *Upload) {
		deviation := u.strength() * kernels.Norm(u.Values) / math.Sqrt(float64(len(u.Values)))
		draws := u.Draws()
		for i := range u.Values {
			u.Values[i] = float32(deviation * draws.NormFloat64())
		}
	},
}

var labelFlip = Transform{
	Name: "label_flip", Stage: StageAttack,
	Doc:   "attackers train with the label classes - 1 - label",
	Label: func(label, classes int32) int32 { return classes - 1 - label },
}

var alie = Transform{
	Name: "alie", Stage: StageAttack, Uses: []string{"update.strength"}, Strength: 1.5,
	Doc:   "attackers send the mean of the others' updates minus strength (1.5) standard deviations",
	Paper: "Baruch et al. 2019, A Little Is Enough, arXiv:1902.06156",
	Collude: func(lie []float32, honest [][]float32, z float64) {
		for j := range lie {
			m := meanAt(honest, j)
			lie[j] = float32(m - float64(z*math.Sqrt(varianceAt(honest, j, m))))
		}
	},
}

var innerProduct = Transform{
	Name: "ipm", Stage: StageAttack, Uses: []string{"update.strength"}, Strength: 1,
	Doc:   "attackers send the mean of the others' updates times -strength (1)",
	Paper: "Xie et al. 2019, Fall of Empires, arXiv:1903.03936",
	Collude: func(lie []float32, honest [][]float32, s float64) {
		for j := range lie {
			lie[j] = float32(-s * meanAt(honest, j))
		}
	},
}

// meanAt returns the mean of a coordinate.
func meanAt(updates [][]float32, j int) float64 {
	sum := 0.0
	for _, u := range updates {
		sum += float64(u[j])
	}
	return sum / float64(len(updates))
}

// varianceAt returns the variance of a coordinate with a mean.
func varianceAt(updates [][]float32, j int, mean float64) float64 {
	sum := 0.0
	for _, u := range updates {
		d := float64(u[j]) - mean
		sum += float64(d * d)
	}
	return sum / float64(len(updates))
}

// strength returns that of the attack.
func (u *Upload) strength() float64 { return u.Updates.strength(u.attack) }

// flips reports whether labels can be flipped.
func (c *Config) flips() bool { return c.Data.Target == data.OneClass }

// ClassCounts returns how many of the client's training samples have each class, by the
// labels that it trains with: those of an attacker may be flipped.
func (l *Local) ClassCounts() ([]int, error) {
	counts, err := l.Train.ClassCounts(l.Model().Classes())
	if err != nil || l.label == nil {
		return counts, err
	}
	flipped, classes := make([]int, len(counts)), int32(l.engine.cfg.Data.Classes)
	for c := range classes {
		flipped[l.label(c, classes)] += counts[c]
	}
	return flipped, nil
}

// flip has an attacker train with other labels.
func (l *Local) flip(b *nn.Batch) {
	if l.label == nil {
		return
	}
	classes := int32(l.engine.cfg.Data.Classes)
	for i, label := range b.Labels {
		if label >= 0 { // others are padding
			b.Labels[i] = l.label(label, classes)
		}
	}
}
