package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/worker"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners/host"
)

// over lays settings over others.
func over(sets, above []string) []string {
	key := func(set string) string {
		name, _, _ := strings.Cut(set, "=")
		return strings.TrimSuffix(name, ".layers")
	}
	sets = slices.DeleteFunc(sets, func(set string) bool {
		return slices.ContainsFunc(above, func(other string) bool { return key(other) == key(set) })
	})
	return append(sets, above...)
}

// tinyStudy is a study of a few trials on the embedded set.
func tinyStudy(t *testing.T, sets ...string) study.Setup {
	t.Helper()
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Sets: over([]string{
		"data.clients=9", "data.samples=30", "cohort=3", `model="logistic"`, "budget.rounds=60", "budget.trial_rounds=11",
		"tuner.options.eliminations=2",
	}, sets)})
	if err != nil {
		t.Fatal(err)
	}
	if c.Method != "reptile" { // the preset's space is for that
		c.Space = map[string]any{"client.lr": map[string]any{"log10": []any{-3.0, 0.0}}}
	}
	fed, model, err := config.Prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s := study.Setup{Config: *c, Data: fed, Model: model, Workers: 1, Tuner: host.Local(plugins.Builtin()[c.Tuner.Name])}
	if name := c.ClientTuner.Name; name != "" {
		s.ClientTuner = host.Local(plugins.Builtin()[name])
	}
	return s
}

// lines are the metrics of a study, and what happened to a cluster.
type lines struct {
	mu    sync.Mutex
	text  bytes.Buffer
	after func(round int) // called after each round
	round int
}

func (l *lines) Event(e study.Event) {
	text, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	l.text.Write(append(text, '\n'))
}

func (l *lines) Progress(study.Progress) {
	l.mu.Lock()
	l.round++
	round := l.round
	l.mu.Unlock()
	if l.after != nil {
		l.after(round)
	}
}

func (l *lines) Evaluated(study.Evaluated) {}

// outcome is what must not depend on where a study was trained.
func outcome(r *result.Result, l *lines) string {
	r.Seconds, r.RoundsPerSecond, r.Audit = 0, 0, nil
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(text) + "\n" + l.text.String()
}

// ofRun is what must not depend on where one training was done.
func ofRun(r *result.RunResult) string {
	r.Seconds, r.RoundsPerSecond = 0, 0
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// outcomes are what studies come to in one process, by their configurations: many tests
// have the same ones.
var outcomes sync.Map

// alone runs a study in one process, or returns what it came to before.
func alone(t *testing.T, s study.Setup) string {
	t.Helper()
	text, err := config.Encode(&s.Config)
	if err != nil {
		t.Fatal(err)
	}
	if known, ok := outcomes.Load(string(text)); ok {
		return known.(string)
	}
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "alone"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	l := &lines{}
	s.Store, s.Observer = st, l
	r, err := study.Tune(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	known := outcome(r, l)
	outcomes.Store(string(text), known)
	return known
}

// run is a study with a cluster in a test.
type run struct {
	t       *testing.T
	dir     string
	setup   func() study.Setup
	options Options
	address string
	after   func(round int)
	opened  func(c *Coordinator) // called once it is open
	plain   bool                 // a training without tuning

	mu          sync.Mutex
	notices     []string
	coordinator *Coordinator // nil before it is open
}

func newRun(t *testing.T, setup func() study.Setup) *run {
	return &run{
		t: t, dir: filepath.Join(t.TempDir(), "study"), setup: setup, address: "127.0.0.1:0",
		options: Options{
			Version: "test", secret: "\x00\x00\x00\x00\x00\x00\x00\x00", Heartbeat: 100 * time.Millisecond,
			Silence: 5 * time.Second,
		},
	}
}

func (r *run) notice(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, line)
}

// told describes how many notices hold some text.
func (r *run) told(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, line := range r.notices {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// await waits until a number of workers have joined, so that a study does not end before.
func (r *run) await(workers int) {
	r.until(" joined (", workers)
}

// until waits until a number of notices contain a text.
func (r *run) until(text string, notices int) {
	for end := time.Now().Add(time.Minute); r.told(text) < notices && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
}

// loses has the coordinator give up the workers for which that is asked.
func (r *run) loses(which func(*workerHandle) bool) {
	r.mu.Lock()
	c := r.coordinator
	r.mu.Unlock()
	if c == nil {
		return
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	for _, s := range c.pool.handles {
		if !s.out && which(s) {
			c.lose(s, "test")
		}
	}
}

func (r *run) join() string { return filepath.Join(r.dir, wire.Folder, wire.JoinFile) }

// tune runs the coordinator until the study or ctx ends.
func (r *run) tune(ctx context.Context) (string, error) {
	st, err := store.Open(context.WithoutCancel(ctx), r.dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = st.Close() }()
	l := &lines{after: r.after}
	s := r.setup()
	s.Store, s.Observer = st, l
	r.options.Notice = r.notice
	c, err := Open(ctx, &s, r.address, r.options)
	if err != nil {
		return "", err
	}
	if r.opened != nil {
		r.opened(c)
	}
	r.mu.Lock()
	r.coordinator = c
	r.mu.Unlock()
	s.Trainer = c
	if r.plain {
		result, err := study.Run(ctx, s)
		c.Close(err == nil)
		if err != nil {
			return "", err
		}
		return ofRun(result), nil
	}
	result, err := study.Tune(ctx, s)
	c.Close(err == nil)
	if err != nil {
		return "", err
	}
	return outcome(result, l), nil
}

// worker starts a worker in a goroutine; the channel tells how it ended.
func (r *run) worker(ctx context.Context, change func(*levers)) chan error {
	l := &levers{WorkerOptions: WorkerOptions{
		Join: r.join(), Version: "test", Workers: 1, Notice: r.notice,
		Patience: 10 * time.Second,
	}}
	ended := make(chan error, 1)
	if change == nil {
		go func() { ended <- Work(ctx, l.WorkerOptions) }()
		return ended
	}
	change(l)
	go func() { ended <- worker.New(worker.Options(l.WorkerOptions), l.open).Work(ctx) }()
	return ended
}

// ends waits for a worker's end.
func ends(t *testing.T, ended chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(60 * time.Second):
		t.Fatal("a worker does not end")
		return nil
	}
}

// sameAsAlone runs the study with workers: they end without an error, and all is as
// in one process.
func (r *run) sameAsAlone(t *testing.T, workers ...chan error) {
	t.Helper()
	got, err := r.tune(t.Context())
	r.isAsAlone(t, got, err, workers...)
}

// isAsAlone holds of what a study came to that it is what one process comes to, and
// that the workers end without an error.
func (r *run) isAsAlone(t *testing.T, got string, err error, workers ...chan error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range workers {
		if err := ends(t, w); err != nil {
			t.Error(err)
		}
	}
	if want := alone(t, r.setup()); got != want {
		t.Errorf("with a cluster\n%s\nin one process\n%s", got, want)
	}
}

// batchNorm is a network with batch normalization.
const batchNorm = `model.layers=[{type="dense",units=6},{type="batchnorm"},{type="relu"},{type="dense"}]`

// TestClusterIsTheSame runs a study with two workers, one of which is asked to leave
// on the way: everything is as in one process.
func TestClusterIsTheSame(t *testing.T) {
	for name, sets := range map[string][]string{
		"sha over fedex": nil,
		"asha":           {"tuner.name=asha", "client_tuner.name=", "tuner.parallel=4"},
		"roc auc": {
			"client_tuner.name=", "method=fedavg", "objective=roc_auc", "eval.every=4", `eval.baselines=["local","pooled"]`,
		},
		"client states": {
			"client_tuner.name=", "method=scaffold", "target=global", "eval.every=4", batchNorm,
			"norm.statistics=affine-shared",
		},
		"compressed": {
			"client_tuner.name=", "method=fedavg", "target=global", "eval.every=4",
			"update.sparsify=topk", "update.keep=0.1", "update.quantize=qsgd",
		},
		"updates one by one": {
			"client_tuner.name=", "method=fedavg", "target=global", "eval.every=4", "update.attack=alie",
			"update.attackers=0.4", "aggregator.name=median",
		},
		"buffered on a fleet": {
			"client_tuner.name=", "method=fedavg", "target=global", "eval.every=4",
			"fleet.devices=lognormal", "fleet.dropout=0.2", "time.mode=buffered", "time.buffer=2",
		},
		"fedex on a fleet": {
			"method=fedavg", "fleet.devices=lognormal", "fleet.dropout=0.2", "time.mode=buffered",
			"time.buffer=2",
		},
		"oort in windows": {
			"client_tuner.name=", "method=fedavg", "target=global", "eval.every=4",
			"fleet.devices=lognormal", "time.mode=window", "time.window=0.2", "sampling=oort", "budget.seconds=24",
			"budget.trial_seconds=6",
		},
		"power of choice": {
			"client_tuner.name=", "method=mifa", "target=global", "eval.every=4", "fleet.memory=[1e8]",
			"time.partial=true", "time.deadline=5", "sampling=power",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, func() study.Setup { return tinyStudy(t, sets...) })
			leave, ask := context.WithCancel(t.Context())
			defer ask()
			r.after = func(round int) {
				r.await(2)
				if round == 12 {
					ask()
				}
			}
			first, second := r.worker(t.Context(), nil), r.worker(leave, nil)
			r.sameAsAlone(t, first, second)
			if r.told("joined (") != 2 || r.told(" left; 1 worker") != 1 || r.told("1 lost")+r.told("2 lost") != 0 {
				t.Errorf("notices %q", r.notices)
			}
			if n := sharers(t, r.dir); n != 1 {
				t.Errorf("the record has %d workers train a round", n)
			}
		})
	}
}

// TestClusterRefuses has a coordinator refuse workers that would not come to the same
// bits.
func TestClusterRefuses(t *testing.T) {
	r := newRun(t, func() study.Setup { return tinyStudy(t) })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := r.tune(ctx)
		ended <- err
	}()
	err := ends(t, r.worker(t.Context(), func(o *levers) { o.Version = "0.1" }))
	if refused, ok := errors.AsType[*wire.RefusedError](err); !ok ||
		refused.Why != "version 0.1 of fedfast, the coordinator has test; run the coordinator's version" {
		t.Errorf("another version: %v", err)
	}
	c := &terms{version: "test", level: "avx2", facts: study.Facts{Data: "these", Layout: "a", Golden: "b"}}
	good := wire.Hello{
		Machine: wire.Machine{Protocol: wire.Protocol, Version: "test", Level: "avx512"},
		Facts:   &study.Facts{Data: "these", Layout: "a", Golden: "b"},
	}
	if why := c.refuse(&good); why != "" {
		t.Errorf("a good worker is refused: %s", why)
	}
	for want, change := range map[string]func(*wire.Hello){
		"protocol version 7,": func(h *wire.Hello) { h.Protocol = 7 },
		"CPU level generic,":  func(h *wire.Hello) { h.Level = "generic" },
		"data those, the study has these;": func(h *wire.Hello) {
			h.Facts = &study.Facts{
				Data: "those", Layout: "a",
				Golden: "b",
			}
		},
		"the model's memory layout differs": func(h *wire.Hello) {
			h.Facts = &study.Facts{
				Data: "these", Layout: "c",
				Golden: "b",
			}
		},
		"its first rounds give other bits": func(h *wire.Hello) {
			h.Facts = &study.Facts{
				Data: "these", Layout: "a",
				Golden: "c",
			}
		},
	} {
		h := good
		change(&h)
		if why := c.refuse(&h); !strings.HasPrefix(why, want) || strings.Contains(why, "\n") {
			t.Errorf("refused with %q, want %q", why, want)
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestWorkerEndsWithTheJoinFile has a worker look for a coordinator that died and was
// resumed elsewhere, where the study ended meanwhile: nobody tells the worker, but the
// join file goes.
func TestWorkerEndsWithTheJoinFile(t *testing.T) {
	r := newRun(t, func() study.Setup { return tinyStudy(t) })
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	j := wire.Join{Fedfast: wire.Protocol, URLs: []string{"nats://127.0.0.1:1"}, Key: string(seed)} // nobody listens there
	if _, err := j.Write(r.dir); err != nil {
		t.Fatal(err)
	}
	ended := r.worker(t.Context(), func(o *levers) { o.Patience = time.Hour })
	for r.told("reconnecting to the coordinator") == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	if err := wire.RemoveJoin(r.join()); err != nil {
		t.Fatal(err)
	}
	if err := ends(t, ended); err != nil {
		t.Error(err)
	}
	if r.told("the study has ended") != 1 {
		t.Errorf("notices %q", r.notices)
	}
}
