package finite

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

type inner struct {
	A float64 `json:"a"`
	b int
}

type outer struct {
	inner
	Embedded
	*Pointed
	*Absent
	Number float64            `json:"number,string"`
	Count  int                `json:"count,string"`
	Zero   float64            `json:"zero,omitzero"`
	When   time.Time          `json:"when,omitzero"`
	Own    own                `json:"own"`
	X      float64            `json:"x"`
	P      *float64           `json:"p"`
	Q      *float64           `json:"q,omitempty"`
	L      []float64          `json:"l"`
	N      []inner            `json:"n"`
	Nil    []int              `json:"nil"`
	Empty  []int              `json:"empty,omitempty"`
	M      map[string]int     `json:"m"`
	Any    any                `json:"any"`
	Bytes  []byte             `json:"bytes"`
	Time   time.Time          `json:"time"`
	Skip   int                `json:"-"`
	Plain  map[string]float64 // under its own name
}

// Embedded has a field that moves into the struct around it.
type Embedded struct {
	E string `json:"e"`
}

// Pointed is embedded by a pointer.
type Pointed struct {
	F float64 `json:"f"`
	X string  `json:"x"` // hidden by the one around it
}

// Absent is embedded by a pointer that is nil.
type Absent struct {
	G float64 `json:"g"`
}

// own is a float that marshals itself.
type own float64

func (o own) MarshalJSON() ([]byte, error) { return json.Marshal("own") }

// TestMarshalEqualsJSON compares with encoding/json where that can work.
func TestMarshalEqualsJSON(t *testing.T) {
	x := 0.25
	v := outer{
		inner: inner{1, 2}, Embedded: Embedded{"<e>"}, Pointed: &Pointed{F: 0.1}, Number: 3.5, Count: 7, Own: own(math.NaN()),
		X: 1e21, P: &x, L: []float64{1, 2.5}, N: []inner{{3, 0}},
		M: map[string]int{"b": 1, "a": 2}, Any: []any{1.5, "s", nil}, Bytes: []byte{1, 2},
		Time: time.Unix(0, 0).UTC(), Skip: 4,
	}
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Marshal(&v)
	if err != nil || string(got) != string(want) {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestMarshalWritesNull(t *testing.T) {
	inf := math.Inf(-1)
	got, err := Marshal(struct {
		X []float64
		P *float64
		Y any
		S float64 `json:",string"`
		*Pointed
	}{[]float64{math.NaN(), 1}, &inf, float32(math.Inf(1)), inf, &Pointed{F: inf, X: "x"}})
	if want := `{"X":[null,1],"P":null,"Y":null,"S":null,"f":null,"x":"x"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := Marshal(map[string]any{"f": func() {}}); err == nil {
		t.Error("a function was written")
	}
}
