package record_test

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/internal/record"
)

func TestRecord(t *testing.T) {
	type state struct {
		Trials int     `json:"trials"`
		Score  float64 `json:"score,omitempty"`
	}
	var r record.Record
	if r.State() != nil {
		t.Errorf("nothing was saved, but there is %q", r.State())
	}
	if err := r.Save(&state{3, 0.1}); err != nil || string(r.State()) != `{"trials":3,"score":0.1}` {
		t.Errorf("saved %s, %v", r.State(), err)
	}
	var got state
	if err := record.Read("dice", r.State(), &got); err != nil || got != (state{3, 0.1}) {
		t.Errorf("read %+v, %v", got, err)
	}
	if err := r.Save(&state{Score: math.NaN()}); err == nil {
		t.Error("a score that JSON cannot hold is saved")
	}
	want := "dice: recorded state is damaged: json: cannot unmarshal number into Go value of type record_test.state"
	if err := record.Read("dice", []byte("3"), &got); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
