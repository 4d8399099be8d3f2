package fl

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// sealed puts the right checksum after what somebody else has made.
func sealed(text []byte) []byte {
	return binary.LittleEndian.AppendUint32(text, crc32.Checksum(text, castagnoli))
}

// took returns how many bytes f allocates.
func took(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// hostile are numbers that no length is.
var hostile = []uint64{1 << 62, 1<<63 + 5, 100e9 / 4, math.MaxUint64, 1 << 31, math.MaxUint32, 1<<20 - 1}

// TestLengthsThatLie reads what has such lengths under a right checksum: it is refused,
// and takes no more memory than what has true ones.
func TestLengthsThatLie(t *testing.T) {
	put := binary.LittleEndian
	for _, n := range hostile {
		short := uint32(max(n&math.MaxUint32, 1<<20)) // of a length of 32 bits
		list := make([]byte, 6*8)                     // a score up to its list
		for what, text := range map[string][]byte{
			"the weights of a snapshot": put.AppendUint64(append([]byte(snapshotMagic), make([]byte, 2*4+32+2*8)...), n),
			"a name of a snapshot":      put.AppendUint32([]byte(snapshotMagic), short),
			"the arrays of a snapshot":  put.AppendUint32(append([]byte(snapshotMagic), make([]byte, 2*4+32+2*8+8)...), short),
			"the number of a trial":     put.AppendUint64(append([]byte(snapshotMagic), make([]byte, 2*4+32)...), n),
			"the sum of a part":         put.AppendUint64(append([]byte(partMagic), make([]byte, 4*8)...), n),
			"the clients of a part":     put.AppendUint64(append([]byte(partMagic), make([]byte, 2*8)...), n),
			"the slots of a part":       put.AppendUint32(append([]byte(partMagic), make([]byte, 7*8)...), short),
			"the clients of an exam":    put.AppendUint32([]byte(examMagic), short),
			"the outputs of a score":    put.AppendUint64(append(put.AppendUint32([]byte(examMagic), 1), list...), n),
			"the examples of a score": put.AppendUint64(append(put.AppendUint32([]byte(examMagic),
				1), make([]byte, 7*8)...), n),
			"the masks of a score": put.AppendUint32(append(put.AppendUint32([]byte(examMagic), 1),
				make([]byte, 8*8)...), short),
		} {
			text = sealed(text)
			read := func() error { _, err := ReadSnapshot(bytes.NewReader(text)); return err }
			switch string(text[:8]) {
			case partMagic:
				read = func() error { _, err := readPart(bytes.NewReader(text)); return err }
			case examMagic:
				read = func() error { _, err := readScores(bytes.NewReader(text)); return err }
			}
			var err error
			if bytes := took(func() { err = read() }); err == nil || bytes > 1<<20 || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %d is read with %v, and takes %d bytes", what, n, err, bytes)
			}
		}
	}
}

// liars are engines elsewhere that change what they send.
type liars struct {
	others
	silent bool
	part   func(*part)
	scores func(*[]clientScores)
}

func (l *liars) Train(ctx context.Context, s shard.Round, read func(io.Reader) error) error {
	if l.silent {
		return nil
	}
	return l.others.Train(ctx, s, func(r io.Reader) error {
		p, err := readPart(r)
		if err != nil {
			return err
		}
		if l.part != nil {
			l.part(p)
		}
		var b bytes.Buffer
		return errors.Join(p.writeTo(&b), read(&b))
	})
}

func (l *liars) Measure(ctx context.Context, x shard.Exam, read func(io.Reader) error) error {
	if l.silent {
		return nil
	}
	return l.others.Measure(ctx, x, func(r io.Reader) error {
		s, err := readScores(r)
		if err != nil {
			return err
		}
		if l.scores != nil {
			l.scores(&s)
		}
		var b bytes.Buffer
		return errors.Join(writeScores(&b, s), read(&b))
	})
}

// TestPartsThatLie has parts and scores come back other than what was asked for:
// the round, or the evaluation, ends with an error, and the trial is as it was.
func TestPartsThatLie(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 48, 12)
	model := fltest.SmallCNN(t, fed)
	method := gathering(func(int, []float32, float64) {})
	config := Config{Method: method, Model: model, Data: fed, Cohort: 20, Seed: 3, Workers: 1}
	l := &liars{others: others{engines: []*Engine{newEngine(t, config)}, parts: 2}}
	config.Elsewhere = l
	e := newEngine(t, config)
	client, server := method.Defaults()
	client.LR, client.Epochs, client.Batch = 0.1, 1, 4
	plan := Plan{Server: server, Clients: []ClientParams{client}, Probes: []string{"val_error_before", signAgreement}}
	tr := e.NewTrial(1)
	long := make([]float32, model.Size()+1)
	for what, lie := range map[string]func(*part){
		"a short sum":            func(p *part) { p.Sum = p.Sum[1:] },
		"a long second sum":      func(p *part) { p.Extra = long },
		"no second sum":          func(p *part) { p.Extra = nil },
		"short signs":            func(p *part) { p.Signs = p.Signs[:1] },
		"too few slots":          func(p *part) { p.Slots = p.Slots[1:] },
		"another first slot":     func(p *part) { p.Lo = 1 << 30 },
		"another client":         func(p *part) { p.Slots[0].Client = 1 << 62 },
		"a weight of NaN":        func(p *part) { p.Weight = math.NaN() },
		"an infinite weight":     func(p *part) { p.Weight = math.Inf(1) },
		"a negative weight":      func(p *part) { p.Weight = -1 },
		"an infinite number":     func(p *part) { p.Number = math.Inf(-1) },
		"too many clients":       func(p *part) { p.Taken = math.MaxInt32 },
		"negative steps":         func(p *part) { p.Slots[1].Steps = -1 },
		"2^62 examples":          func(p *part) { p.Slots[1].Examples = 1 << 62 },
		"other training sets":    func(p *part) { p.Slots[1].TrainExamples = math.MinInt },
		"other validation sets":  func(p *part) { p.Slots[1].ValExamples++ },
		"scores of many outputs": func(p *part) { p.Slots[1].Before.Fit.Outputs = make([]Fit, 7) },
	} {
		l.part = lie
		if _, err := tr.Round(t.Context(), plan); err == nil || strings.Contains(err.Error(), "\n") || tr.Rounds() != 0 {
			t.Errorf("%s: a round ends with %v", what, err)
		}
	}
	l.part = nil
	if _, err := tr.Round(t.Context(), plan); err != nil {
		t.Errorf("a round of true parts: %v", err)
	}
	for what, lie := range map[string]func(*[]clientScores){
		"too few clients": func(s *[]clientScores) { *s = (*s)[1:] },
		"other examples":  func(s *[]clientScores) { (*s)[0].globalTest.n = math.MaxInt32 },
		"no examples":     func(s *[]clientScores) { (*s)[0].globalVal.n = 0 },
		"scores unasked":  func(s *[]clientScores) { (*s)[0].personalVal.n = 3 },
		"masks":           func(s *[]clientScores) { (*s)[0].globalVal.masked = make([]maskedScore, 1) },
		"many outputs":    func(s *[]clientScores) { (*s)[0].globalVal.Fit.Outputs = make([]Fit, 3) },
		"an error of NaN": func(s *[]clientScores) { (*s)[0].globalVal.Error = math.NaN() },
		"infinite error":  func(s *[]clientScores) { (*s)[0].globalTest.Error = math.Inf(1) },
	} {
		l.scores = lie
		if _, err := e.Evaluate(t.Context(), tr.Weights(), EvalConfig{}); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: an evaluation ends with %v", what, err)
		}
	}
	l.scores = nil
	if _, err := e.Evaluate(t.Context(), tr.Weights(), EvalConfig{}); err != nil {
		t.Errorf("an evaluation of true scores: %v", err)
	}
	l.silent = true
	if _, err := tr.Round(t.Context(), plan); err == nil {
		t.Error("a round of parts that never came is done")
	}
	if _, err := e.Evaluate(t.Context(), tr.Weights(), EvalConfig{}); err == nil {
		t.Error("an evaluation of scores that never came is done")
	}
	many := Plan{}
	for i := range mostSmoothed + 1 {
		many.Probes = append(many.Probes, smoothedCosine+"{alpha=0."+strings.Repeat("1", i+1)+"}")
	}
	if _, err := tr.Round(t.Context(), many); err == nil {
		t.Error("any number of vectors is kept for probes")
	}
}

// TestMostBytesHoldsParts compares what a part and scores take with their bound.
func TestMostBytesHoldsParts(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 48, 12)
	model := fltest.SmallCNN(t, fed)
	e := newEngine(t, Config{
		Method: gathering(func(int, []float32, float64) {}), Model: model, Data: fed,
		Cohort: 16, Seed: 3, Workers: 1,
	})
	var p, all bytes.Buffer
	if err := e.Train(t.Context(), shard.Round{
		Weights: model.NewParams(),
		Plan:    shard.Plan{Probes: []string{signAgreement}}, Lo: 0, Hi: 16,
	}, &p); err != nil {
		t.Fatal(err)
	}
	if err := writeScores(&all, make([]clientScores, len(fed.Clients))); err != nil {
		t.Fatal(err)
	}
	fields := 0
	numbersOf(reflect.ValueOf(Slot{}), func(reflect.Value) { fields++ })
	if fields > 16+2*8 {
		t.Errorf("a slot has %d numbers: MostBytes counts less", fields)
	}
	for what, b := range map[string]*bytes.Buffer{"part": &p, "scores": &all} {
		if n := int64(b.Len()); n > e.MostBytes() {
			t.Errorf("%s: %d bytes are more than %d", what, n, e.MostBytes())
		}
	}
}
