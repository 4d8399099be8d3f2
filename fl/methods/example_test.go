package methods_test

import (
	"context"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/methods"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// fedExP is FedExP (Jhunjhunwala et al. 2023, algorithm 1): FedAvg whose server
// extrapolates, the further the less the clients' changes agree,
//
//	w <- w - max(1, mean |w - w_i|^2 / (2 (|g|^2 + eps))) g,  g = mean (w - w_i)
//
// with equal weights. What it does not say of itself it has from FedAvg.
func fedExP() fl.Method {
	m := methods.FedAvg()
	train := m.Local
	m.Name = "fedexp"
	m.Doc = "FedExP: FedAvg with an adaptive step of the server"
	m.Paper = "Jhunjhunwala et al. 2023, FedExP: Speeding Up Federated Averaging via Extrapolation, arXiv:2301.09604"
	m.Local = func(l *fl.Local) error {
		if err := train(l); err != nil {
			return err
		}
		change := l.Vector(0)
		kernels.Sub(change, l.Broadcast, l.Weights)
		l.Weight, l.Number = 1, kernels.Dot(change, change)
		return nil
	}
	m.NewServer = func(int) fl.Server { return extrapolation{} }
	return m
}

type extrapolation struct{}

func (extrapolation) Step(w []float32, u *fl.Update, _ fl.ServerParams) {
	const eps = 1e-3
	step := max(1, u.Number/(2*(kernels.Dot(u.Mean, u.Mean)+eps)))
	kernels.Axpy(w, -float32(step), u.Mean)
}

func (extrapolation) State() [][]float32 { return nil }

// A federated method of one's own, and data and a network of one's own, in memory:
// points of the plane in two classes, of which each client has its own part.
func Example() {
	if err := fl.Register(fedExP()); err != nil {
		panic(err)
	}
	method, err := fl.MethodByName("fedexp") // as method = "fedexp" of a study file does
	if err != nil {
		panic(err)
	}
	model, err := nn.NewModel("plane", nn.Shape{H: 1, W: 1, C: 2}, 2, nn.Dense{Units: 16}, nn.ReLU{}, nn.Dense{Units: 2})
	if err != nil {
		panic(err)
	}
	engine, err := fl.New(fl.Config{Model: model, Data: circles(8, 60), Method: method, Cohort: 4, Seed: 1})
	if err != nil {
		panic(err)
	}
	defer engine.Close()

	client, server := method.Defaults()
	client.LR, client.Epochs = 0.2, 4
	plan := fl.Plan{Clients: []fl.ClientParams{client}, Server: server}
	trial := engine.NewTrial(0)
	for trial.Rounds() < 40 {
		if _, err := trial.Round(context.Background(), plan); err != nil {
			panic(err)
		}
	}
	scores, err := engine.Evaluate(context.Background(), trial.Weights(), fl.EvalConfig{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s: %d clients, error below 10%%: %v\n", method.Name, scores.GlobalTest.Clients,
		scores.GlobalTest.Error < 0.1)
	// Output: fedexp: 8 clients, error below 10%: true
}

// circles returns a federation of clients that each hold n points of one sector of
// the plane; a point is of class 1 outside of the unit circle. The last quarter of
// them are the client's test examples.
func circles(clients, n int) *data.Federation {
	fed := &data.Federation{Name: "circles", Kind: data.Vector, H: 1, W: 1, C: 2, Classes: 2}
	for k := range clients {
		var points []float32
		var labels []int32
		for i := range n {
			angle := 2 * math.Pi * (float64(k) + math.Mod(float64(i)*0.618034, 1)) / float64(clients)
			radius := 0.4 + 1.2*math.Mod(float64(i)*0.754878, 1)
			points = append(points, float32(radius*math.Cos(angle)), float32(radius*math.Sin(angle)))
			label := int32(0)
			if radius > 1 {
				label = 1
			}
			labels = append(labels, label)
		}
		all := data.VectorView(2, points, labels)
		fed.Clients = append(fed.Clients, data.Client{
			ID:    fmt.Sprint("sector ", k),
			Train: all.Part(0, n*3/4), Test: all.Part(n*3/4, n),
		})
	}
	return fed
}
