package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/fedfast/fedfast/data"
)

func init() {
	must(data.Register(data.SetInfo{
		Name: "shapes", Doc: "noisy outlines of circles, squares and diamonds, drawn at start; each client has a size of its own",
		Kind: data.Image, Input: "28x28x1", Classes: 3, Clients: "20 unless data.clients says otherwise",
		Samples: "60 a client unless data.samples says otherwise", Synthetic: true,
	}, loadShapes))
}

const side = 28

// loadShapes draws all clients. What it returns depends on the configuration alone.
func loadShapes(_ context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	clients, samples := cfg.Clients, cfg.Samples
	if clients == 0 {
		clients = 20
	}
	if samples == 0 {
		samples = 60
	}
	all := make([]data.Examples, clients)
	for k := range all {
		r := rand.New(rand.NewPCG(cfg.Seed, uint64(k)))
		size, pixels, labels := 6+5*r.Float64(), make([]byte, 0, samples*side*side), make([]int32, samples)
		for i := range labels {
			labels[i] = int32(i % 3)
			pixels = outline(pixels, r, labels[i], size)
		}
		all[k] = data.Examples{Client: fmt.Sprintf("%04d", k), Train: data.ImageView(side, side, 1, pixels, labels)}
	}
	return &data.Federation{H: side, W: side, C: 1, Classes: 3}, all, nil
}

// outline appends an image: the points at a distance of size from a centre, where the
// distance is the distance of the shape.
func outline(pixels []byte, r *rand.Rand, shape int32, size float64) []byte {
	cx, cy := side/2+4*r.Float64()-2, side/2+4*r.Float64()-2
	for y := range side {
		for x := range side {
			dx, dy := math.Abs(float64(x)-cx), math.Abs(float64(y)-cy)
			distance := [3]float64{math.Sqrt(float64(dx*dx) + float64(dy*dy)), max(dx, dy), dx + dy}[shape]
			ink := max(0, 1-math.Abs(distance-size))
			pixels = append(pixels, byte(200*ink+55*r.Float64()))
		}
	}
	return pixels
}
