package glyphs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"
)

// generate draws a federation or fails the test.
func generate(t testing.TB, cfg Config) *Set {
	t.Helper()
	set, err := Generate(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// digest hashes all that a set holds.
func digest(set *Set) string {
	h := sha256.New()
	for _, w := range set.Writers {
		h.Write([]byte(w.ID))
		h.Write(w.Labels)
		h.Write(w.Images)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// The bytes of a seed are a promise, the same on every CPU. A change of this hash
// changes everybody's results on the set.
func TestGoldenBytes(t *testing.T) {
	const want = "e378875eb100f5776646dc90e7a5ce6bde26b959e9133971789a78e0536e6775"
	if got := digest(generate(t, Config{Seed: 7, Clients: 24, MeanSamples: 30})); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// The bits before they are rounded to bytes: a single multiplication and addition
// that a CPU fuses would show here even where no byte changes.
func TestGoldenBits(t *testing.T) {
	const want = "e6557aceaa9fb026e1a88ab1f2b1ddab7bb8136fabc9510e5866ab28cf3cf64b"
	faces, err := loadFaces()
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	var bits [8]byte
	add := func(v float64) {
		binary.LittleEndian.PutUint64(bits[:], math.Float64bits(v))
		h.Write(bits[:])
	}
	var c canvas
	var image [Pixels]byte
	for i := range 200 {
		c.restart(9, i, purposeStyle, 0)
		st := drawStyle(&c.stream, len(faces))
		label := i * 17 % Classes
		c.habits[label].draw(&c.stream)
		c.sample(image[:], &st, &faces[i%len(faces)][label], label)
		for _, p := range c.shape.points {
			add(p.x)
			add(p.y)
		}
		for _, row := range c.grey {
			for _, v := range row {
				add(v)
			}
		}
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func TestSameBytesForAnyWorkers(t *testing.T) {
	cfg := Config{Seed: 3, Clients: 9, MeanSamples: 20, Workers: 1}
	want := digest(generate(t, cfg))
	for _, workers := range []int{2, 3, 16} {
		cfg.Workers = workers
		if got := digest(generate(t, cfg)); got != want {
			t.Errorf("%d workers: other bytes than with one", workers)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	cfg.Workers = 0
	if digest(generate(t, cfg)) != want {
		t.Error("GOMAXPROCS=1: other bytes")
	}
}

func TestWritersDependOnSeedAndPlace(t *testing.T) {
	few := generate(t, Config{Seed: 1, Clients: 3, MeanSamples: 20})
	many := generate(t, Config{Seed: 1, Clients: 6, MeanSamples: 20})
	other := generate(t, Config{Seed: 2, Clients: 3, MeanSamples: 20})
	for i, w := range few.Writers {
		if !slices.Equal(w.Images, many.Writers[i].Images) || w.ID != many.Writers[i].ID {
			t.Errorf("writer %d changes when writers are added", i)
		}
		if slices.Equal(w.Labels, other.Writers[i].Labels) {
			t.Errorf("writer %d has the same labels under another seed", i)
		}
	}
}

func TestSizesAndMixes(t *testing.T) {
	set := generate(t, Config{})
	if len(set.Writers) != defaultClients {
		t.Fatalf("%d writers, want %d", len(set.Writers), defaultClients)
	}
	var sizes []int
	var perClass [Classes]int
	var total int
	var topShare float64
	ids := map[string]bool{}
	for _, w := range set.Writers {
		n := len(w.Labels)
		if len(w.Images) != n*Pixels {
			t.Fatalf("%s: %d labels, %d image bytes", w.ID, n, len(w.Images))
		}
		var own [Classes]int
		for _, l := range w.Labels {
			own[l]++ // panics on a label out of range
			perClass[l]++
		}
		slices.Sort(own[:])
		var top int
		for _, k := range own[Classes-10:] {
			top += k
		}
		topShare += float64(top) / float64(n)
		sizes, total, ids[w.ID] = append(sizes, n), total+n, true
	}
	slices.Sort(sizes)
	mean := float64(total) / float64(len(sizes))
	t.Logf("sizes %d..%d, median %d, mean %.1f; ten commonest classes of a writer: %.2f of its samples; classes %d..%d",
		sizes[0], sizes[len(sizes)-1], sizes[len(sizes)/2], mean, topShare/float64(len(sizes)),
		slices.Min(perClass[:]), slices.Max(perClass[:]))
	if len(ids) != len(set.Writers) {
		t.Error("writers share an ID")
	}
	if math.Abs(mean-defaultMeanSamples) > 8 {
		t.Errorf("mean of %.1f samples, want about %d", mean, defaultMeanSamples)
	}
	if sizes[0] < defaultMeanSamples/5 || sizes[len(sizes)-1] > 3*defaultMeanSamples {
		t.Errorf("sizes %d..%d leave [20, 300]", sizes[0], sizes[len(sizes)-1])
	}
	if low, high := sizes[len(sizes)/10], sizes[len(sizes)*9/10]; high < 4*low {
		t.Errorf("sizes are not skewed: the 10th percentile is %d, the 90th %d", low, high)
	}
	if slices.Min(perClass[:]) < total/(4*Classes) {
		t.Errorf("a class has %d of %d samples", slices.Min(perClass[:]), total)
	}
	// Even mixes with digits 2.5 times as common would give 0.33, plus the chance
	// of small samples.
	if share := topShare / float64(len(sizes)); share < 0.45 {
		t.Errorf("ten commonest classes hold %.2f of a writer's samples: mixes are not skewed", share)
	}
}

// Every image shows ink on paper: its inside is darker than its border, and
// neither blank nor blotted out.
func TestNoBlankImages(t *testing.T) {
	set := generate(t, Config{Seed: 11})
	for _, w := range set.Writers {
		for n := range w.Labels {
			image := w.Images[n*Pixels:][:Pixels]
			var all, border, rim float64
			for i, v := range image {
				all += 255 - float64(v)
				if y, x := i/Side, i%Side; y == 0 || x == 0 || y == Side-1 || x == Side-1 {
					border += 255 - float64(v)
					rim++
				}
			}
			ink := all - border/rim*Pixels
			if ink < 255*4 || all > 255*Pixels*0.75 {
				t.Fatalf("%s sample %d (%c): ink of %.1f pixels over the paper's, %.1f in all",
					w.ID, n, alphabet[w.Labels[n]], ink/255, all/255)
			}
		}
	}
}

func TestAlphabet(t *testing.T) {
	for label, want := range map[uint8]byte{0: '0', 9: '9', 10: 'A', 35: 'Z', 36: 'a', 61: 'z'} {
		if got := alphabet[label]; got != want {
			t.Errorf("label %d is %c, want %c", label, got, want)
		}
	}
}

func TestBadConfig(t *testing.T) {
	for _, cfg := range []Config{{Clients: -1}, {MeanSamples: -5}, {MeanSamples: 4}} {
		if _, err := Generate(t.Context(), cfg); err == nil {
			t.Errorf("%+v: no error", cfg)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Generate(ctx, Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

func BenchmarkGenerate(b *testing.B) {
	generate(b, Config{Clients: 1}) // parses the fonts
	for b.Loop() {
		generate(b, Config{})
	}
}
