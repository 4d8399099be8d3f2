package fl

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/tensor"
)

// Snapshot is the state of a trial between two rounds. A trial restored from it
// continues with the same bits. It does not change.
type Snapshot struct {
	// Model and Method are the names of what the trial trains.
	Model, Method string
	// Layout is the digest of the model's memory layout, see Engine.Layout.
	Layout [32]byte
	// Number and Round are the trial's number and how many rounds it did.
	Number, Round int
	// Weights are the model's packed weights.
	Weights []float32
	// Server holds the arrays of the server's state.
	Server [][]float32
	// Clients hold the states of the clients that were drawn, by client.
	Clients []clientState
	// Probes hold what probes remember from round to round.
	Probes []probeState
	// Clock is the simulated time with the clients at work, nil without a fleet, and
	// Versions are the models that they began from, Jobs what they train with.
	Clock    *clock.State
	Versions []Version
	Jobs     []jobParams
}

// clientState is what a client of a stateful method keeps.
type clientState struct {
	// Client is the index of the client in the federation.
	Client int
	store  *store
	block  *block
}

// jobParams are the hyperparameters of a job.
type jobParams struct {
	Sequence uint64
	Params   ClientParams
}

// probeState is what a probe remembers.
type probeState struct {
	// Name is the probe's, with its options.
	Name string
	// Values are its memory.
	Values []float32
}

// The binary form of a snapshot, all numbers little-endian:
//
//	8 bytes   "ffsnap", 0, the version: 3
//	string    model
//	string    method
//	32 bytes  layout
//	uint64    number, round
//	vector    weights
//	uint32    number of server arrays, then a vector for each
//	uint32    number of clients, then for each a uint64 index and a vector
//	uint32    number of probes, then for each a string and a vector
//	uint32    0, or 1 with a clock: a JSON document of it, the versions' numbers and the
//	          jobs' hyperparameters, and a vector for each version
//	uint32    CRC-32C of all before
//
// A string is a uint32 length and its bytes; a vector is a uint64 length and its
// float32 values in the packed layout that the digest names.
const snapshotMagic = "ffsnap\x00\x03"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WriteTo writes the snapshot in its binary form, which ReadSnapshot reads.
func (s *Snapshot) WriteTo(w io.Writer) (int64, error) {
	e := newSnapshotWriter(w)
	e.write([]byte(snapshotMagic))
	e.text(s.Model)
	e.text(s.Method)
	e.write(s.Layout[:])
	e.uint64(uint64(s.Number))
	e.uint64(uint64(s.Round))
	e.vector(s.Weights)
	e.uint32(len(s.Server))
	for _, a := range s.Server {
		e.vector(a)
	}
	e.uint32(len(s.Clients))
	for _, c := range s.Clients {
		values, err := c.Values()
		if err != nil {
			return e.n, err
		}
		e.uint64(uint64(c.Client))
		e.vector(values)
	}
	e.uint32(len(s.Probes))
	for _, p := range s.Probes {
		e.text(p.Name)
		e.vector(p.Values)
	}
	if err := e.clock(s); err != nil {
		return e.n, err
	}
	return e.end(fmt.Sprintf("snapshot of trial %d", s.Number))
}

// Values returns the state's numbers; they may be read only.
func (c clientState) Values() ([]float32, error) {
	if c.block.values != nil {
		return c.block.values, nil
	}
	values := make([]float32, c.store.size)
	return values, c.store.read(values, c.block)
}

type snapshotWriter struct {
	w   *bufio.Writer
	crc hash.Hash32
	n   int64
	err error
}

func (e *snapshotWriter) write(b []byte) {
	if e.err != nil {
		return
	}
	_, _ = e.crc.Write(b) // a hash takes everything
	var n int
	n, e.err = e.w.Write(b)
	e.n += int64(n)
}

func (e *snapshotWriter) uint32(n int) { e.write(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

func (e *snapshotWriter) uint64(n uint64) { e.write(binary.LittleEndian.AppendUint64(nil, n)) }

func (e *snapshotWriter) text(s string) {
	e.uint32(len(s))
	e.write([]byte(s))
}

func (e *snapshotWriter) vector(x []float32) {
	e.uint64(uint64(len(x)))
	e.write(tensor.LittleEndian(x))
}

const (
	vectorPart = 1 << 14 // floats that are read or written at a time
	maxText    = 1 << 12 // bytes of a name
)

// ReadSnapshot reads what Snapshot.WriteTo wrote, without reading beyond it by
// more than a buffer. A file that is cut off, damaged or of another version is an
// error, and memory is taken only for what the file holds.
func ReadSnapshot(r io.Reader) (*Snapshot, error) {
	d := newSnapshotReader(r)
	s := &Snapshot{}
	magic := d.bytes(len(snapshotMagic))
	if d.err == nil && string(magic[:6]) != snapshotMagic[:6] {
		return nil, errors.New("snapshot: this is no snapshot of fedfast")
	}
	if d.err == nil && string(magic) != snapshotMagic {
		return nil, fmt.Errorf("snapshot: its version is %d; this fedfast reads version %d", magic[7], snapshotMagic[7])
	}
	s.Model, s.Method = d.text(), d.text()
	copy(s.Layout[:], d.bytes(len(s.Layout)))
	s.Number, s.Round = d.index(), d.index()
	s.Weights = d.vector()
	for range d.count() {
		s.Server = append(s.Server, d.vector())
		if d.err != nil {
			break
		}
	}
	for range d.count() {
		s.Clients = append(s.Clients, clientState{Client: d.index(), block: &block{values: d.vector(), shared: true}})
		if d.err != nil {
			break
		}
	}
	for range d.count() {
		s.Probes = append(s.Probes, probeState{Name: d.text(), Values: d.vector()})
		if d.err != nil {
			break
		}
	}
	d.clock(s)
	if err := d.end("snapshot"); err != nil {
		return nil, err
	}
	return s, nil
}

type snapshotReader struct {
	r    *bufio.Reader
	from io.Reader
	part []byte // of a vector
	crc  hash.Hash32
	err  error
}

// bytes reads n bytes; after an error they are zero.
func (d *snapshotReader) bytes(n int) []byte {
	b := make([]byte, n)
	d.read(b)
	return b
}

func (d *snapshotReader) read(b []byte) {
	if d.err == nil {
		_, d.err = io.ReadFull(d.r, b)
		_, _ = d.crc.Write(b) // a hash takes everything
	}
}

// left returns how many bytes are to come, where that is known.
func (d *snapshotReader) left() (n uint64, known bool) {
	s, ok := d.from.(interface{ Len() int })
	if !ok {
		return 0, false
	}
	return uint64(s.Len()) + uint64(d.r.Buffered()), true //nolint:gosec // a length
}

func (d *snapshotReader) count() int { return int(binary.LittleEndian.Uint32(d.bytes(4))) }

func (d *snapshotReader) index() int {
	n := d.uint64()
	if n > math.MaxInt32 && d.err == nil {
		d.err = fmt.Errorf("it is damaged: a number of %d", n)
	}
	return int(n)
}

func (d *snapshotReader) text() string {
	n := d.count()
	if n > maxText && d.err == nil {
		d.err = fmt.Errorf("it is damaged: a name of %d bytes", n)
	}
	if d.err != nil {
		return ""
	}
	return string(d.bytes(n))
}

// vector reads in parts, so that a wrong length ends with the file.
func (d *snapshotReader) vector() []float32 {
	n := d.uint64()
	var x []float32
	left, known := d.left()
	if n > left/4 && known && d.err == nil {
		d.err = io.ErrUnexpectedEOF
	}
	if n > 0 && known && d.err == nil {
		x = make([]float32, 0, n)
	}
	for n > 0 && d.err == nil {
		part := min(n, vectorPart)
		d.part = slices.Grow(d.part[:0], int(4*part))
		raw := d.part[:4*part]
		d.read(raw)
		for i := range int(part) {
			x = append(x, math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
		}
		n -= part
	}
	return x
}

// clockHead is what a snapshot has of a clock besides vectors.
type clockHead struct {
	State    clock.State
	Versions []int // their bases
	Jobs     []jobsHead
}

// jobsHead are jobs with the same hyperparameters.
type jobsHead struct {
	Sequences []uint64
	Params    json.RawMessage
}

const maxClock = 1 << 30 // bytes of a clock

func (e *snapshotWriter) clock(s *Snapshot) error {
	if s.Clock == nil {
		e.uint32(0)
		return nil
	}
	head := clockHead{State: *s.Clock}
	for _, v := range s.Versions {
		head.Versions = append(head.Versions, v.Base)
	}
	at := map[string]int{}
	for _, j := range s.Jobs {
		params, err := json.Marshal(j.Params)
		if err != nil {
			return err
		}
		i, known := at[string(params)]
		if !known {
			i = len(head.Jobs)
			at[string(params)] = i
			head.Jobs = append(head.Jobs, jobsHead{Params: params})
		}
		head.Jobs[i].Sequences = append(head.Jobs[i].Sequences, j.Sequence)
	}
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	e.uint32(1)
	e.uint64(uint64(len(text)))
	e.write(text)
	for _, v := range s.Versions {
		e.vector(v.Weights)
	}
	return nil
}

func (d *snapshotReader) clock(s *Snapshot) {
	if d.count() == 0 || d.err != nil {
		return
	}
	n := d.uint64()
	if n > maxClock && d.err == nil {
		d.err = fmt.Errorf("it is damaged: a clock of %d bytes", n)
	}
	if d.err != nil {
		return
	}
	var text []byte
	for n > 0 && d.err == nil {
		part := min(n, vectorPart)
		text = append(text, d.bytes(int(part))...)
		n -= part
	}
	if d.err != nil {
		return
	}
	var head clockHead
	if err := json.Unmarshal(text, &head); err != nil {
		d.err = fmt.Errorf("it is damaged: its clock: %w", err)
		return
	}
	s.Clock = &head.State
	for _, h := range head.Jobs {
		params := hyper.DefaultClient()
		if err := json.Unmarshal(h.Params, &params); err != nil {
			d.err = fmt.Errorf("it is damaged: hyperparameters of its clock: %w", err)
			return
		}
		for _, sequence := range h.Sequences {
			s.Jobs = append(s.Jobs, jobParams{sequence, params})
		}
	}
	slices.SortFunc(s.Jobs, func(a, b jobParams) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for _, base := range head.Versions {
		v := Version{Base: base, Weights: d.vector()}
		if d.err != nil {
			return
		}
		s.Versions = append(s.Versions, v)
	}
}
