package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/hyper"
)

// samplePlan returns a plan in which every hyperparameter has an odd value of its own.
func samplePlan(t *testing.T) fl.Plan {
	t.Helper()
	n := 0.0
	var odd func(v reflect.Value)
	odd = func(v reflect.Value) {
		for i := range v.NumField() {
			f := v.Field(i)
			if !f.CanSet() {
				continue
			}
			n++
			switch f.Kind() {
			case reflect.Struct:
				odd(f)
			case reflect.Float64:
				f.SetFloat(math.Nextafter(1/(3*n), 1))
			case reflect.Int:
				f.SetInt(int64(n))
			case reflect.Bool:
				f.SetBool(!f.Bool())
			case reflect.String:
				f.SetString("adam")
			default:
				t.Fatalf("%s: a kind of hyperparameter that this test does not know", v.Type().Field(i).Name)
			}
		}
	}
	params := func() fl.ClientParams {
		c := hyper.DefaultClient()
		odd(reflect.ValueOf(&c).Elem())
		return c
	}
	p := fl.Plan{
		Server: hyper.DefaultServer(), Clients: []fl.ClientParams{params(), params()},
		Probes: []string{"val_error_after", "examples_val"},
	}
	odd(reflect.ValueOf(&p.Server).Elem())
	p.Time = fleet.DefaultTime()
	p.Time.Mode, p.Time.Buffer, p.Time.Exponent = fleet.Buffered, 7, 1.0/3
	p.Table = []hyper.Cell{{HI: 0.1, Samples: 1.0 / 3, Params: params()}}
	return p
}

// TestPlanKeepsItsBits sends every hyperparameter there and back.
func TestPlanKeepsItsBits(t *testing.T) {
	p := samplePlan(t)
	wire, err := EncodePlan(p)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(wire)
	if err != nil {
		t.Fatal(err)
	}
	var got Plan
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	back, err := got.Decode()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprintf("%#v", p), fmt.Sprintf("%#v", back); a != b {
		t.Errorf("sent\n%s\narrived\n%s", a, b)
	}
}
