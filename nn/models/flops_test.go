package models

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/nn"
)

// TestFLOPs holds the multiplications and additions of training steps: those of
// the forward pass and of both gradients, without the first layer's input
// gradient and without products with padding. The networks are counted by hand:
// a 5x5 kernel over n columns padded by two meets 5n-6 of them, one of 3x3
// padded by one 3n-2.
func TestFLOPs(t *testing.T) {
	square := func(x int64) int64 { return x * x }
	for _, c := range []struct {
		model string
		input nn.Shape
		want  int64
	}{
		{"logistic", nn.Shape{}, 2 * 2 * 784 * 62},
		{"reddi-emnist-cnn", nn.Shape{}, 2 * (2*square(26)*9*32 + 3*(square(24)*9*32*64+9216*128+128*62))},
		{"leaf-femnist-cnn", nn.Shape{}, 2 * (2*square(5*28-6)*32 + 3*(square(5*14-6)*32*64+3136*2048+2048*62))},
		{"mcmahan-cifar-cnn", nn.Shape{}, 2 * (2*square(5*24-6)*3*64 + 3*(square(5*12-6)*64*64+2304*384+384*192+192*10))},
		{
			"mcmahan-cifar-cnn",
			nn.Shape{H: 32, W: 32, C: 3},
			2 * (2*square(5*32-6)*3*64 + 3*(square(5*16-6)*64*64+4096*384+384*192+192*10)),
		},
		{"leaf-char-lstm", nn.Shape{}, 2 * 3 * (80*1024*(8+256+256+256) + 256*80)},
	} {
		m, err := New(c.model, Options{Input: c.input})
		if err != nil {
			t.Fatal(err)
		}
		if _, train := m.FLOPs(); train != c.want {
			t.Errorf("%s: %d, want %d", c.model, train, c.want)
		}
	}
}

// TestFLOPsOfResNet compares with the rate at which a peak of 117 GFLOP/s would
// train ResNet-18, 40.5 samples a second.
func TestFLOPsOfResNet(t *testing.T) {
	m, err := New("resnet18-gn", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, train := m.FLOPs(); math.Abs(117e9/float64(train)-40.5) > 0.1 {
		t.Errorf("%d operations a training step: %.2f samples/s at 117 GFLOP/s, want 40.5", train, 117e9/float64(train))
	}
}
