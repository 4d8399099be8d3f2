package npz_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/npztest"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// TestOpenOwnTargets: numbers to predict and several labels, of samples for training
// and testing, of a file's own clients and dealt.
func TestOpenOwnTargets(t *testing.T) {
	x := npztest.Array{Name: "x", Shape: []int{4, 2}, Values: counted[float32](8, 0)}
	more := npztest.Array{Name: "x_test", Shape: []int{2, 2}, Values: counted[float32](4, 50)}
	clients := []npztest.Array{
		{Name: "client", Shape: []int{4}, Values: []string{"b", "a", "b", "a"}},
		{Name: "client_test", Shape: []int{2}, Values: []string{"b", "a"}},
	}
	for _, tt := range []struct {
		name    string
		y, test npztest.Array
		target  data.Target
		n       int
		a, b    []float32 // what clients a and b train on
		last    []float32 // what b is tested on
		counts  []int     // of a's labels
	}{
		{
			"a number",
			npztest.Array{Shape: []int{4}, Values: []float64{0.5, -1, 2, 3}},
			npztest.Array{Shape: []int{2}, Values: []float32{7, 8}},
			data.Numbers, 1,
			[]float32{-1, 3},
			[]float32{0.5, 2},
			[]float32{7},
			[]int{0},
		},
		{
			"numbers",
			npztest.Array{Shape: []int{4, 2}, Values: counted[float32](8, 10)},
			npztest.Array{Shape: []int{2, 2}, Values: counted[float32](4, 30)},
			data.Numbers, 2,
			[]float32{12, 13, 16, 17},
			[]float32{10, 11, 14, 15},
			[]float32{30, 31},
			[]int{0, 0},
		},
		{
			"labels",
			npztest.Array{Shape: []int{4, 3}, Values: []uint8{1, 0, 1 /**/, 0, 0, 0 /**/, 0, 1, 0 /**/, 1, 1, 1}},
			npztest.Array{Shape: []int{2, 3}, Values: []int64{0, 0, 1 /**/, 1, 0, 0}},
			data.ManyLabels, 3,
			[]float32{0, 0, 0, 1, 1, 1},
			[]float32{1, 0, 1, 0, 1, 0},
			[]float32{0, 0, 1},
			[]int{1, 1, 1},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.y.Name, tt.test.Name = "y", "y_test"
			path := ownFile(t, append([]npztest.Array{x, tt.y, more, tt.test}, clients...)...)
			cfg := data.Config{Name: "npz-vectors", Path: path, Split: "100/0/files", MinSamples: 1, IID: new(false)}
			fed := settest.Open(t, cfg)
			if fed.Target != tt.target || fed.Classes != tt.n {
				t.Fatalf("%s, %d; want %s, %d", fed.Target, fed.Classes, tt.target, tt.n)
			}
			for _, v := range []struct {
				data.View
				want []float32
			}{{fed.Clients[0].Train, tt.a}, {fed.Clients[1].Train, tt.b}, {fed.Clients[1].Test, tt.last}} {
				if got := targetsOf(t, v.View, tt.n); !slices.Equal(got, v.want) {
					t.Errorf("targets %v, want %v", got, v.want)
				}
			}
			if counts, err := fed.Clients[0].Train.ClassCounts(tt.n); err != nil || !slices.Equal(counts, tt.counts) {
				t.Errorf("counts %v, %v; want %v", counts, err, tt.counts)
			}

			cfg.Split, cfg.Partition, cfg.Clients = "80/20/0", "iid", 2
			dealt := settest.Open(t, cfg)
			var all []float32
			for _, c := range dealt.Clients {
				pos := counted[int32](c.Train.Len(), 0)
				rows, labels := make([]float32, 2*len(pos)), make([]int32, len(pos))
				if err := c.Train.Fill(pos, rows, nil, labels, nil); err != nil {
					t.Fatal(err)
				}
				all = append(all, targetsOf(t, c.Train, tt.n)...)
			}
			if len(all) != 4*tt.n { // of 6, two are for validation
				t.Errorf("dealt %v", all)
			}
			cfg.Partition, cfg.Alpha = "dirichlet", 1
			_, err := data.Open(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), "instead of class labels to deal by; use \"iid\"") {
				t.Errorf("dealt by classes: %v", err)
			}
			other := tt.y
			other.Values = []float64{0.5, -1, 2, 4}
			if tt.n == 1 && settest.Open(t, data.Config{
				Name: "npz-vectors",
				Path: ownFile(t, append([]npztest.Array{x, other, more, tt.test}, clients...)...), MinSamples: 1,
				Split: "files",
			}).Fingerprint == fed.Fingerprint {
				t.Error("other targets have the same fingerprint")
			}
		})
	}
}

// targetsOf returns the targets of all examples.
func targetsOf(t *testing.T, v data.View, n int) []float32 {
	t.Helper()
	targets := make([]float32, v.Len()*n)
	if err := v.FillTargets(counted[int32](v.Len(), 0), targets); err != nil {
		t.Fatal(err)
	}
	return targets
}

// TestScalesDiffer: test samples on another scale, and clients whose names are alike, are noted.
func TestScalesDiffer(t *testing.T) {
	path := ownFile(t,
		npztest.Array{Name: "x", Shape: []int{4, 1}, Values: []float32{0, 0.5, 0.25, 1}},
		npztest.Array{Name: "y", Shape: []int{4}, Values: []int64{0, 1, 0, 1}},
		npztest.Array{Name: "client", Shape: []int{4}, Values: []string{"A", "A", "a", "a"}},
		npztest.Array{Name: "x_test", Shape: []int{2, 1}, Values: []float32{255, 3}},
		npztest.Array{Name: "y_test", Shape: []int{2}, Values: []int64{0, 1}},
	)
	fed := settest.Open(t, data.Config{Name: "npz-vectors", Path: path, MinSamples: 1})
	for _, note := range []string{
		"the values of array x_test reach 255, those of x 1: scale both alike",
		"some clients differ only in capitals, spaces, zeros or the encoding of accents: A, a",
	} {
		if !slices.Contains(fed.Notes, note) {
			t.Errorf("notes %q, want %s", fed.Notes, note)
		}
	}
}

// TestWholeFloatsAreNoted: numbers to predict that look like classes are noted.
func TestWholeFloatsAreNoted(t *testing.T) {
	const note = "the array y holds floats, so they are numbers to predict, though all are whole; save it as integers if they are classes, numpy.unique(y, return_inverse=True)[1]"
	for _, tt := range []struct {
		y     any
		noted bool
	}{
		{[]float64{0, 2, 1, 1}, true},
		{[]float32{0, 2, 1, 1.5}, false},
		{[]float32{1, -1, -1, 1}, true},
		{[]float32{250_000, 2, 1, 1}, true},
		{[]int64{0, 2, 1, 1}, false},
	} {
		x := npztest.Array{Name: "x", Shape: []int{4, 2}, Values: counted[float32](8, 0)}
		path := ownFile(t, x, npztest.Array{Name: "y", Shape: []int{4}, Values: tt.y})
		fed := settest.Open(t, data.Config{Name: "npz-vectors", Path: path, Partition: "iid", Clients: 1, MinSamples: 1})
		if slices.Contains(fed.Notes, note) != tt.noted {
			t.Errorf("%v: notes %q", tt.y, fed.Notes)
		}
	}
}

// TestColumnOfClasses: integers in a column are classes, as those in a list.
func TestColumnOfClasses(t *testing.T) {
	x := npztest.Array{Name: "x", Shape: []int{4, 2}, Values: counted[float32](8, 0)}
	for _, values := range []any{[]int64{0, 1, 1, 0}, []uint8{0, 1, 1, 0}, []int32{0, 3, 2, 1}} {
		open := func(shape ...int) *data.Federation {
			path := ownFile(t, x, npztest.Array{Name: "y", Shape: shape, Values: values})
			return settest.Open(t, data.Config{
				Name: "npz-vectors", Path: path, Partition: "iid", Clients: 1,
				MinSamples: 1, Split: "100/0/0",
			})
		}
		list, column := open(4), open(4, 1)
		_, _, want := settest.Filled(t, list, list.Clients[0].Train)
		_, _, got := settest.Filled(t, column, column.Clients[0].Train)
		if column.Target != data.OneClass || column.Classes != list.Classes || !slices.Equal(got, want) || len(got) != 4 {
			t.Errorf("%v: labels %v of %d classes (%s), want %v of %d", values, got, column.Classes,
				column.Target, want, list.Classes)
		}
	}
}

// TestOddTargetsAreNoted: what every model gets right, and outputs for nothing.
func TestOddTargetsAreNoted(t *testing.T) {
	x := npztest.Array{Name: "x", Shape: []int{4, 2}, Values: counted[float32](8, 0)}
	for _, tt := range []struct {
		y    npztest.Array
		want string
	}{
		{
			npztest.Array{Shape: []int{4}, Values: []int64{0, 7, 0, 7}},
			"only 2 of the 8 classes 0 to 7 occur: class 1 is the first without samples",
		},
		{npztest.Array{Shape: []int{4}, Values: []int64{1, 1, 1, 1}}, "all labels are class 1"},
		{npztest.Array{Shape: []int{4, 2}, Values: []uint8{0, 1 /**/, 1, 0 /**/, 0, 1 /**/, 1, 0}}, "save y.argmax(axis=1)"},
		{npztest.Array{Shape: []int{4}, Values: []float32{2.5, 2.5, 2.5, 2.5}}, "all numbers to predict are 2.5"},
	} {
		tt.y.Name = "y"
		fed := settest.Open(t, data.Config{
			Name: "npz-vectors", Path: ownFile(t, x, tt.y),
			Partition: "iid", Clients: 1, MinSamples: 1,
		})
		if !strings.Contains(strings.Join(fed.Notes, "\n"), tt.want) {
			t.Errorf("%v: notes %q, want %q", tt.y.Values, fed.Notes, tt.want)
		}
	}
}

// TestRefusedOwnTargets: what y cannot be.
func TestRefusedOwnTargets(t *testing.T) {
	x := npztest.Array{Name: "x", Shape: []int{2, 2}, Values: counted[float32](4, 0)}
	more := npztest.Array{Name: "x_test", Shape: []int{2, 2}, Values: counted[float32](4, 0)}
	for _, tt := range []struct {
		y    []npztest.Array
		want string
	}{
		{
			[]npztest.Array{{Name: "y", Shape: []int{2, 2}, Values: []int32{0, 1, 2, 0}}},
			"array y: value [1, 0] is 2, must be in 0 to 1: the columns of a table are labels",
		},
		{[]npztest.Array{{Name: "y", Shape: []int{2, 1, 2}, Values: []int32{0, 1, 2, 0}}}, "array y has the shape [2 1 2]"},
		{[]npztest.Array{{Name: "y", Shape: []int{3, 1}, Values: []int32{0, 1, 2}}}, "array y has the shape [3 1]"},
		{[]npztest.Array{
			{Name: "y", Shape: []int{2}, Values: []float32{0, 1}},
			{Name: "y_test", Shape: []int{2}, Values: []int32{0, 1}},
			more,
		}, "must be targets of one kind"},
		{
			[]npztest.Array{{Name: "y", Shape: []int{2}, Values: []float64{0, 1e300}}},
			"must be a finite float32; save y / numpy.maximum(numpy.abs(y).max(axis=0), 1)",
		},
		{
			[]npztest.Array{{Name: "y", Shape: []int{2}, Values: []float64{1e9, 1e9 + 2}}},
			"have the mean 1e+09 and the deviation 1, which 32-bit floats lose; read are numbers of about 7 digits: " +
				"save y - 1000000001",
		},
	} {
		_, err := data.Open(t.Context(), data.Config{
			Name: "npz-vectors",
			Path: ownFile(t, append(tt.y, x)...), Partition: "iid",
		})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want one with %q", err, tt.want)
		}
	}
}
