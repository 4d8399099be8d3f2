// This program times training steps of GoMLX's backend in plain Go, for ../../../results/speed.md:
//
//	go mod tidy && GOMAXPROCS=1 taskset -c 1 go run . reddi-emnist-cnn 20
//	taskset -c 1 fedfast bench --suite nn --precision fp32 --model reddi-emnist-cnn --batch 20
//
// The networks are fedfast's; --model ../../../networks/mlp-784-200-200-10.toml --input 784 is the
// perceptron. The backend has no gradients of convolution and max pooling: here they are products
// of gathered pixels, and a maximum over axes. Times are user CPU time, the least of five windows.
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/gomlx/pkg/ml/layers"
	. "github.com/gomlx/gomlx/pkg/ml/layers/activations"
	"github.com/gomlx/gomlx/pkg/ml/train/losses"
	"github.com/gomlx/gomlx/pkg/ml/train/optimizers"
)

// networks maps 28 x 28 pixels to logits.
var networks = map[string]func(ctx *context.Context, x *Node) *Node{
	"mlp-784-200-200-10": func(ctx *context.Context, x *Node) *Node {
		return dense(ctx, "3", Relu(dense(ctx, "2", Relu(dense(ctx, "1", x, 200)), 200)), 10)
	},
	"reddi-emnist-cnn": func(ctx *context.Context, x *Node) *Node {
		x = Relu(conv(ctx, "2", Relu(conv(ctx, "1", x, 32, 3, 0)), 64, 3, 0))
		x = Relu(dense(ctx, "3", layers.DropoutStatic(ctx, pool(x), 0.25), 128))
		return dense(ctx, "4", layers.DropoutStatic(ctx, x, 0.5), 62)
	},
	"leaf-femnist-cnn": func(ctx *context.Context, x *Node) *Node {
		x = pool(Relu(conv(ctx, "2", pool(Relu(conv(ctx, "1", x, 32, 5, 2))), 64, 5, 2)))
		return dense(ctx, "4", Relu(dense(ctx, "3", x, 2048)), 62)
	},
}

// dense multiplies by weights. Its gradients are matrix products, too, which the library's are not.
func dense(ctx *context.Context, name string, x *Node, units int) *Node {
	var dy *Node
	g, x := x.Graph(), Reshape(x, x.Shape().Dimensions[0], -1)
	variable := func(of string, shape ...int) *Node {
		return ctx.In(name).VariableWithShape(of, shapes.Make(x.DType(), shape...)).ValueGraph(g)
	}
	w := variable("weights", x.Shape().Dimensions[1], units)
	dx := func(_, _ *Node) *Node { return DotGeneral(dy, []int{1}, nil, w, []int{1}, nil) }
	dw := func(_, _ *Node) *Node { return DotGeneral(x, []int{0}, nil, dy, []int{0}, nil) }
	y := DotGeneral(IdentityWithCustomGradient(x, dx), []int{1}, nil, IdentityWithCustomGradient(w, dw), []int{0}, nil)
	y = IdentityWithCustomGradient(y, func(_, v *Node) *Node { dy = v; return v })
	return Add(y, variable("biases", 1, units))
}

// conv is a convolution of k x k with as many zeros around as pad says.
func conv(ctx *context.Context, name string, x *Node, filters, k, pad int) *Node {
	d := x.Shape().Dimensions
	n, h, w, c := d[0], d[1], d[2], d[3]
	oh, ow := h+2*pad-k+1, w+2*pad-k+1
	from := make([]int32, 0, n*oh*ow*k*k) // rows of x, after which there is one of zeros
	for i := range n * oh * ow {
		for j := range k * k {
			row := n * h * w
			if y, x := i/ow%oh+j/k-pad, i%ow+j%k-pad; min(x, y) >= 0 && y < h && x < w {
				row = (i/(oh*ow)*h+y)*w + x
			}
			from = append(from, int32(row))
		}
	}
	rows := Concatenate([]*Node{Reshape(x, n*h*w, c), Zeros(x.Graph(), shapes.Make(x.DType(), 1, c))}, 0)
	rows = Gather(rows, ConstTensor(x.Graph(), tensors.FromFlatDataAndDimensions(from, len(from), 1)))
	return Reshape(dense(ctx, name, Reshape(rows, n*oh*ow, k*k*c), filters), n, oh, ow, filters)
}

// pool takes the maximum of each 2 x 2 pixels.
func pool(x *Node) *Node {
	d := x.Shape().Dimensions
	return ReduceMax(Reshape(x, d[0], d[1]/2, 2, d[2]/2, 2, d[3]), 2, 4)
}

func main() {
	net := networks[os.Args[1]]
	batch, _ := strconv.Atoi(os.Args[2]) // 0 fails below
	pixels, labels := make([]float32, batch*784), make([]int32, batch)
	for i := range pixels {
		pixels[i], labels[i/784] = float32(i*7919%1009)/1009, int32(i/784%10)
	}
	x := tensors.FromFlatDataAndDimensions(pixels, batch, 28, 28, 1)
	y := tensors.FromFlatDataAndDimensions(labels, batch, 1)
	weights := 0
	backends.DefaultConfig = "go:parallelism=1,ops_sequential"
	exec := context.MustNewExec(backends.MustNew(), context.New(),
		func(ctx *context.Context, x, y *Node) *Node {
			ctx.SetTraining(x.Graph(), true)
			loss := ReduceAllMean(losses.SparseCategoricalCrossEntropyLogits([]*Node{y}, []*Node{net(ctx, x)}))
			weights = ctx.NumParameters() // with 3 that dropout draws from
			optimizers.StochasticGradientDescent().WithDecay(false).WithLearningRate(0.05).UpdateGraph(ctx, x.Graph(), loss)
			return loss
		})
	step := func() float32 { return exec.MustExec1(x, y).Value().(float32) }
	first, last, best := step(), float32(0), time.Duration(1<<62)
	for range 5 {
		start, steps := cpu(), 0
		for ; steps < 3 || cpu()-start < 2*time.Second; steps++ {
			last = step()
		}
		best = min(best, (cpu()-start)/time.Duration(steps))
	}
	fmt.Printf("%d weights, %v of CPU a step, loss from %.4f to %.4f\n", weights, best, first, last)
}

// cpu returns the user CPU time of the process.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // of itself, it does not fail
	return time.Duration(u.Utime.Nano())
}
