package fl

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
)

// written returns what is left of a snapshot after writing and reading it.
func written(t testing.TB, s Snapshot) Snapshot {
	t.Helper()
	var b bytes.Buffer
	n, err := s.WriteTo(&b)
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(b.Len()) {
		t.Errorf("WriteTo says %d bytes, wrote %d", n, b.Len())
	}
	again, err := ReadSnapshot(&b)
	if err != nil {
		t.Fatal(err)
	}
	return *again
}

// filledSnapshot has something of everything.
func filledSnapshot(t testing.TB) Snapshot {
	t.Helper()
	st := newStore(3, 0)
	b, err := st.write([]float32{1, float32(math.NaN()), -0})
	if err != nil {
		t.Fatal(err)
	}
	return Snapshot{
		Model: "m", Method: "ditto", Layout: [32]byte{1, 2, 3}, Number: 7, Round: 9,
		Weights: []float32{1.5, -2, float32(math.Inf(1))}, Server: [][]float32{{4}, nil},
		Clients: []clientState{{Client: 5, store: st, block: b}},
		Probes:  []probeState{{Name: "cos_delta_smoothed{alpha=0.5}", Values: []float32{1, 2, 3}}},
	}
}

func TestSnapshotIsReadAsWritten(t *testing.T) {
	s := filledSnapshot(t)
	r := written(t, s)
	if r.Model != s.Model || r.Method != s.Method || r.Layout != s.Layout || r.Number != s.Number || r.Round != s.Round {
		t.Errorf("got %+v, want %+v", r, s)
	}
	same := func(what string, got, want []float32) {
		if !slices.EqualFunc(got, want, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	same("weights", r.Weights, s.Weights)
	if len(r.Server) != 2 || len(r.Clients) != 1 || len(r.Probes) != 1 {
		t.Fatalf("got %+v", r)
	}
	same("server 0", r.Server[0], s.Server[0])
	same("server 1", r.Server[1], s.Server[1])
	same("client", r.Clients[0].block.values, s.Clients[0].block.values)
	same("probe", r.Probes[0].Values, s.Probes[0].Values)
	if r.Clients[0].Client != 5 || r.Probes[0].Name != s.Probes[0].Name {
		t.Errorf("got client %d and probe %q", r.Clients[0].Client, r.Probes[0].Name)
	}
}

func TestDamagedSnapshots(t *testing.T) {
	var b bytes.Buffer
	s := filledSnapshot(t)
	if _, err := s.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	for n := range whole {
		if _, err := ReadSnapshot(bytes.NewReader(whole[:n])); err == nil || !strings.Contains(err.Error(), "cut off") {
			t.Fatalf("cut to %d of %d bytes: got error %v", n, len(whole), err)
		}
	}
	for i := range whole {
		bad := slices.Clone(whole)
		bad[i] ^= 0x40
		if _, err := ReadSnapshot(bytes.NewReader(bad)); err == nil {
			t.Fatalf("byte %d changed: no error", i)
		}
	}
	newer := slices.Clone(whole)
	newer[7] = 9
	if _, err := ReadSnapshot(bytes.NewReader(newer)); err == nil || !strings.Contains(err.Error(), "version is 9") {
		t.Errorf("another version: got error %v", err)
	}
}

func FuzzReadSnapshot(f *testing.F) {
	var b bytes.Buffer
	s := filledSnapshot(f)
	if _, err := s.WriteTo(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadSnapshot(bytes.NewReader(text))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if _, err := s.WriteTo(&again); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(text, again.Bytes()) {
			t.Error("what was read is written differently")
		}
	})
}

// TestStoreSpills keeps one block in memory and the others in the file.
func TestStoreSpills(t *testing.T) {
	s := newStore(5, 20)
	defer s.close()
	var blocks []*block
	for i := range 4 {
		b, err := s.write([]float32{float32(i), 1, 2, 3, float32(math.Inf(-1))})
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	if blocks[0].values == nil || blocks[1].values != nil {
		t.Fatal("want the first block in memory, the second in the file")
	}
	got := make([]float32, 5)
	check := func(b *block, first float32) {
		t.Helper()
		if err := s.read(got, b); err != nil {
			t.Fatal(err)
		}
		if want := []float32{first, 1, 2, 3, float32(math.Inf(-1))}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	for i, b := range blocks {
		check(b, float32(i))
	}
	// A block that a snapshot holds is never written again, another is.
	blocks[2].shared = true
	s.recycle(blocks[2])
	s.recycle(blocks[3])
	b, err := s.write([]float32{9, 1, 2, 3, float32(math.Inf(-1))})
	if err != nil {
		t.Fatal(err)
	}
	if b != blocks[3] {
		t.Error("the free block was not used")
	}
	check(blocks[2], 2)
	check(b, 9)
}
