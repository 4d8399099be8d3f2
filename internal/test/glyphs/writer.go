package glyphs

import "fmt"

// A style is what all samples of one writer share. Lengths are in pixels unless
// said otherwise; turns are tangents.
type style struct {
	face             int
	slant            float64 // x gained per unit of height
	turn             float64 // tangent of half the angle of rotation
	height           float64 // of a capital
	aspect           float64 // width over what the face has
	evenness         float64 // 1: every character as tall as a capital, 0: the face's own proportions
	stroke           float64 // width
	habit            float64 // bend that comes back in every sample of a class, capital heights
	tremor           float64 // bend of a single sample, capital heights
	wobble           float64 // unit of the jitter of slant, turn, size and place of a sample
	softness         float64 // share of blur
	ink, fade, grain float64 // darkness of the ink in [0, 1], its change between samples, amplitude of the paper's noise
}

func drawStyle(s *stream, faces int) style {
	return style{
		face:     int(s.unit() * float64(faces)),
		slant:    float64(0.2 * s.normal()),
		turn:     float64(0.05 * s.normal()),
		height:   s.span(15, 22),
		aspect:   exp(float64(0.18 * s.normal())),
		evenness: s.span(0.2, 0.8),
		stroke:   exp(0.9 + float64(0.3*s.normal())),
		habit:    s.span(0.03, 0.15),
		tremor:   s.span(0.03, 0.15),
		wobble:   s.span(0.3, 1),
		softness: s.unit(),
		ink:      s.span(0.75, 1),
		fade:     s.span(0, 0.2),
		grain:    s.span(0, 0.06),
	}
}

// Logarithmic spreads of the class mix and of the sizes, and how much more often
// a digit is written than a letter.
const (
	mixSpread   = 1.1
	sizeSpread  = 0.65
	digitWeight = 2.5
)

// drawLabels draws how many samples a writer has, log-normal between a fifth and
// three times of mean, and their labels from a mix of the writer's own.
func drawLabels(s *stream, mean int) []uint8 {
	m := float64(mean)
	// The factor puts the mean of the clipped log-normal at m.
	size := min(max(0.83*m*exp(float64(sizeSpread*s.normal())), m/5), 3*m)
	var upTo [Classes]float64
	var total float64
	for c := range upTo {
		weight := exp(float64(mixSpread * s.normal()))
		if c < 10 {
			weight = float64(weight * digitWeight)
		}
		total += weight
		upTo[c] = total
	}
	labels := make([]uint8, int(size))
	for i := range labels {
		u := s.unit() * total
		for int(labels[i]) < Classes-1 && upTo[labels[i]] <= u {
			labels[i]++
		}
	}
	return labels
}

// drawWriter draws writer i on c.
func drawWriter(c *canvas, faces []face, cfg Config, i int) Writer {
	c.restart(cfg.Seed, i, purposeStyle, 0)
	st := drawStyle(&c.stream, len(faces))
	c.restart(cfg.Seed, i, purposeMix, 0)
	labels := drawLabels(&c.stream, cfg.MeanSamples)
	for class := range c.habits {
		c.restart(cfg.Seed, i, purposeHabit, class)
		c.habits[class].draw(&c.stream)
	}
	images := make([]byte, len(labels)*Pixels)
	for n, label := range labels {
		c.restart(cfg.Seed, i, purposeSample, n)
		c.sample(images[n*Pixels:][:Pixels], &st, &faces[st.face][label], int(label))
	}
	return Writer{ID: fmt.Sprintf("writer-%04d", i), Images: images, Labels: labels}
}
