package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// roundBatches are the models of the suite fl with the batch sizes of their rounds.
var roundBatches = []struct {
	model string
	batch int
}{{"reddi-emnist-cnn", 20}, {"leaf-femnist-cnn", 10}, {"leaf-char-lstm", 10}}

// The rounds of the suite fl: the number of clients, and of samples per client.
const (
	roundClients, roundSamples = 10, 200
	quickClients, quickSamples = 4, 40

	otherBatch = 20 // of models that the suite does not list
)

// roundRows lists whole rounds: 10 clients x 200 samples, 1 epoch of plain SGD.
func roundRows(ctx context.Context, cfg Config) ([]row, error) {
	if len(cfg.Models) == 0 {
		for _, b := range roundBatches {
			cfg.Models = append(cfg.Models, b.model)
		}
	}
	nets, err := networks(ctx, cfg)
	if err != nil {
		return nil, err
	}
	clients, samples := roundClients, roundSamples
	if cfg.Quick {
		clients, samples = quickClients, quickSamples
	}
	var rows []row
	for _, net := range nets {
		batch := otherBatch
		for _, b := range roundBatches {
			if b.model == net.name {
				batch = b.batch
			}
		}
		if cfg.Batch > 0 {
			batch = cfg.Batch
		}
		r := wholeRounds{net: net, batch: batch, clients: clients, samples: samples, workers: cfg.workers()}
		rows = append(rows, row{name: net.name, shape: r.shape(), batch: batch, optimizer: plainSGD, run: r.run})
	}
	return rows, nil
}

// wholeRounds measures rounds with one worker and with several.
type wholeRounds struct {
	net                     network
	batch, clients, samples int
	workers                 int
}

func (r wholeRounds) shape() string {
	return fmt.Sprintf("%s,clients=%d,samples=%d", inputText(r.net.Input()), r.clients, r.samples)
}

// Rounds are timed in turns: with one worker, with all, and PyTorch in each of its
// forms.
const (
	roundPasses = 5
	roundTime   = 500 * time.Millisecond
	collections = 20
)

func (r wholeRounds) run(ctx context.Context, m *meter) ([]Result, error) {
	fed := federation(r.net, r.clients, r.samples)
	var sims []*simulation
	defer func() {
		for _, s := range sims {
			s.engine.Close()
		}
	}()
	counts := []int{1}
	if r.workers > 1 {
		counts = append(counts, r.workers)
	}
	for _, p := range m.precisions {
		for _, workers := range counts {
			s, err := newSimulation(r.net, p, fed, r.clients, r.batch, workers, 1)
			if err != nil {
				return nil, err
			}
			sims = append(sims, s)
			if _, err := s.all(ctx, s.plan); err != nil { // touch the memory
				return nil, err
			}
		}
	}
	rivals, err := r.rivals(ctx, m)
	if err != nil {
		return nil, err
	}
	length := roundTime
	if m.quick {
		length = 0
	}
	peaks := map[nn.Precision][]float64{}
	for range m.passes {
		for _, s := range sims {
			p := s.model.Precision()
			peaks[p] = append(peaks[p], m.samplePeak(p))
			if err := s.take(ctx, length); err != nil {
				return nil, err
			}
		}
		for _, v := range rivals {
			if err := v.take(ctx, length, 1); err != nil {
				return nil, err
			}
		}
	}
	m.peaks = append(m.peaks, peaks[nn.FP32]...)
	return r.results(ctx, m, sims, rivals, peaks)
}

// rivals prepares every PyTorch: with one thread, with as many threads as there are
// workers, and with as many processes.
func (r wholeRounds) rivals(ctx context.Context, m *meter) ([]*rival, error) {
	forms := []struct{ threads, processes int }{{1, 1}}
	if r.workers > 1 {
		forms = append(forms, struct{ threads, processes int }{r.workers, 1}, struct{ threads, processes int }{1, r.workers})
	}
	var rivals []*rival
	for _, f := range forms {
		job := &torchJob{op: "round", net: r.net, batch: r.batch, clients: r.clients, samples: r.samples, processes: f.processes}
		entered, err := m.enter(ctx, job, f.threads)
		if err != nil {
			return nil, err
		}
		rivals = append(rivals, entered...)
	}
	return rivals, nil
}

// results folds the times and measures what needs rounds of its own.
func (r wholeRounds) results(ctx context.Context, m *meter, sims []*simulation, rivals []*rival, peaks map[nn.Precision][]float64) ([]Result, error) {
	forced := collections
	if m.quick {
		forced = 3
	}
	var results []Result
	for _, s := range sims {
		x, err := s.result(r.shape(), median(peaks[s.model.Precision()]))
		if err != nil {
			return nil, err
		}
		if last := len(results) - 1; x.Threads > 1 { // after the row of one worker
			x.Round.Speedup = results[last].Seconds / x.Seconds
		}
		if err := s.countAllocs(ctx, x.Round, 3); err != nil {
			return nil, err
		}
		if x.Round.GCStop, err = s.gcStop(ctx, forced); err != nil {
			return nil, err
		}
		for _, v := range rivals {
			if v.threads*max(1, v.job.processes) <= x.Threads {
				x.compare(v.against(r.clients * r.samples))
			}
		}
		results = append(results, x)
	}
	gains(results)
	return results, nil
}

// pooled is how many examples the clients of a federation share: enough that the
// caches do not hold them.
const pooled = 4096

// federation makes clients of random examples for a network. They read from one
// pool, so that many clients take little memory.
func federation(net network, clients, samples int) *data.Federation {
	in := net.Input()
	fed := &data.Federation{
		Name: "random", H: in.H, W: in.W, C: in.C, SeqLen: in.Seq, Vocab: in.Vocab, Classes: net.Classes(),
		EveryStep: net.LabelsPerExample() > 1, Clients: make([]data.Client, clients), Synthetic: true,
	}
	stream := newStream(0)
	size := max(samples, min(clients*samples, pooled))
	labels := list.Made(size, func(i int) int32 { return int32(stream.IntN(net.Classes())) })
	bytes := func(n, below int) []byte {
		return list.Made(n, func(i int) byte { return byte(stream.IntN(below)) })
	}
	ids := min(256, in.Vocab, net.Classes())
	var pool data.View
	switch {
	case fed.EveryStep:
		fed.Kind, pool = data.Tokens, data.StepView(in.Seq, bytes(size*(in.Seq+1), ids))
	case in.Seq > 0:
		fed.Kind, pool = data.Tokens, data.TextView(in.Seq, bytes(size+in.Seq, ids))
	case in.H*in.W > 1:
		fed.Kind, pool = data.Image, data.ImageView(in.H, in.W, in.C, bytes(size*in.Size(), 256), labels)
	default:
		values := list.Made(size*in.Size(), func(i int) float32 { return stream.Float32() })
		fed.Kind, pool = data.Vector, data.VectorView(in.Size(), values, labels)
	}
	for i := range fed.Clients {
		at := i * samples % (size - samples + 1)
		fed.Clients[i] = data.Client{ID: strconv.Itoa(i), Train: pool.Part(at, at+samples)}
	}
	return fed
}

// newStream returns random numbers of which a suite needs no more than that they
// are the same in every run.
func newStream(i int) *kernels.Stream { return kernels.NewStream(1, uint64(i)) }
