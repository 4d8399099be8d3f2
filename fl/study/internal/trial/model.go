package trial

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/store"
)

// modelPrefix begins the names of the snapshots of models.
const modelPrefix = "best-"

// Model is a trial's model after a round, which may be returned.
type Model struct {
	Score   float64 // NaN when there is none
	Trial   *Trial
	Round   int
	Weights []float32 // nil where the round comes from the record
	Memory  *fl.State // of the method, nil for most
	State   []byte    // of the client tuner's session; nil where it was not at hand
	saved   string    // the snapshot that its segment stored last
	last    bool      // the trial ended with this round: its weights are the model's
}

// LastModel is the trial's model after its last round.
func (t *Trial) LastModel(score float64) Model {
	return Model{Score: score, Trial: t, Round: t.rounds, last: true}
}

// Last reports whether the model is the trial's LastModel.
func (m *Model) Last() bool { return m.last }

// Name is the name of the model's snapshot.
func (m *Model) Name() string {
	return fmt.Sprintf(modelPrefix+"%06d-round-%08d", m.Trial.Number, m.Round)
}

// modelHead is what the snapshot of a model has before its weights.
type modelHead struct {
	Trial int    `json:"trial"`
	Round int    `json:"round"`
	State []byte `json:"state"` // of the client tuner's session
}

// Save stores a model that may be returned, unless it is stored, instead of the one
// that its segment stored before.
func (m *Model) Save(ctx context.Context) error {
	if m.Weights == nil || m.Trial.study.Past.Store == nil || m.saved == m.Name() {
		return nil
	}
	if err := m.findState(ctx); err != nil {
		return err
	}
	head, err := json.Marshal(modelHead{m.Trial.Number, m.Round, m.State})
	if err != nil {
		return err
	}
	study := m.Trial.study
	s := fl.Snapshot{
		Model: study.Meter.Model.Name(), Method: study.Hyper.Method.Name, Layout: study.Engine.Layout(), Number: m.Trial.Number, Round: m.Round, Weights: m.Weights,
	}
	m.Memory.AddTo(&s)
	err = study.Past.Store.WriteSnapshot(m.Name(), func(w io.Writer) error {
		if _, err := w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...)); err != nil {
			return err
		}
		_, err := s.WriteTo(w)
		return err
	})
	if err != nil {
		return err
	}
	old := m.saved
	if m.saved = m.Name(); old == "" {
		return nil
	}
	return study.Past.Store.RemoveSnapshot(old)
}

// Remove deletes the snapshots of a model that a better one has replaced.
func (m *Model) Remove() error {
	s := m.Trial.study.Past.Store
	if s == nil {
		return nil
	}
	err := s.RemoveSnapshot(m.Name())
	if m.saved != "" {
		err = errors.Join(err, s.RemoveSnapshot(m.saved))
	}
	return err
}

// RemoveOthers deletes the snapshots of models whose names are not to be kept.
func RemoveOthers(s *store.Store, keep map[string]bool) error {
	names, err := s.Snapshots()
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, modelPrefix) && !keep[name] {
			if err := s.RemoveSnapshot(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Forget deletes the snapshots of a trial: another one will have its number.
func Forget(s *store.Store, number int) error {
	names, err := s.Snapshots()
	for _, name := range names {
		if strings.Contains(name, fmt.Sprintf("-%06d-round-", number)) && err == nil {
			err = s.RemoveSnapshot(name)
		}
	}
	return err
}

// findState finds the state of the client tuner's session that belongs to the model.
func (m *Model) findState(ctx context.Context) (err error) {
	if s := m.Trial.session; m.State == nil && s != nil {
		m.State, err = s.StateAt(ctx, 2*(m.Round-m.Trial.base))
	}
	return err
}

// stored reports whether the model's snapshot is there.
func (m *Model) stored() bool {
	s := m.Trial.study.Past.Store
	return s != nil && s.ReadSnapshot(m.Name(), func(io.Reader) error { return nil }) == nil
}

// Fill fills in the weights of a model, and what belongs to them, where its round came
// from the record.
func (m *Model) Fill(ctx context.Context) error {
	if m.last {
		if err := m.Trial.Load(ctx); err != nil {
			return err
		}
		m.Weights, m.Memory = m.Trial.Weights(), m.Trial.Memory()
		return m.findState(ctx)
	}
	if m.Weights != nil {
		return nil
	}
	study := m.Trial.study
	err := study.Past.Store.ReadSnapshot(m.Name(), m.read)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		study.Log.Warn("the stored model cannot be used; its rounds are run again", "why", err)
	}
	tr, err := m.Trial.restore(ctx, m.Round)
	if err != nil {
		return err
	}
	m.Weights, m.Memory = tr.Weights(), tr.State()
	return m.findState(ctx)
}

// read reads the model's snapshot.
func (m *Model) read(r io.Reader) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	var text bytes.Buffer
	if _, err := io.CopyN(&text, r, int64(binary.LittleEndian.Uint32(size[:]))); err != nil {
		return err
	}
	var head modelHead
	if err := json.Unmarshal(text.Bytes(), &head); err != nil {
		return err
	}
	s, err := fl.ReadSnapshot(r)
	if err != nil {
		return err
	}
	engine := m.Trial.study.Engine
	if s.Layout != engine.Layout() {
		return errors.New("its weights have a different memory layout")
	}
	if m.Memory, err = engine.StateOf(*s); err != nil {
		return err
	}
	m.Weights, m.State, m.saved = s.Weights, head.State, m.Name()
	return nil
}
