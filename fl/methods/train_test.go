package methods

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newEngine(t testing.TB, cfg fl.Config) *fl.Engine {
	t.Helper()
	e, err := fl.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// runRounds runs rounds of a plan and returns their results.
func runRounds(t testing.TB, tr *fl.Trial, plan fl.Plan, rounds int) []*fl.RoundResult {
	t.Helper()
	var results []*fl.RoundResult
	for range rounds {
		r, err := tr.Round(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	return results
}

// written returns what is left of a snapshot after writing and reading it.
func written(t testing.TB, s fl.Snapshot) fl.Snapshot {
	t.Helper()
	again, err := fl.ReadSnapshot(bytes.NewReader(binaryOf(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	return *again
}

// binaryOf returns the binary form of a snapshot.
func binaryOf(t testing.TB, s fl.Snapshot) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// states returns what the clients of a trial keep, by client.
func states(t testing.TB, tr *fl.Trial) map[int][]float32 {
	t.Helper()
	kept := map[int][]float32{}
	for _, c := range tr.Snapshot().Clients {
		values, err := c.Values()
		if err != nil {
			t.Fatal(err)
		}
		kept[c.Client] = values
	}
	return kept
}

// begun gives hyperparameters that a test writes out the mark of those that began
// as the defaults. They are SGD's.
func begun(c fl.ClientParams) fl.ClientParams {
	v := hyper.Values{Client: c}
	all := hyper.DefaultClient()
	full := hyper.Values{Client: all}
	for _, p := range hyper.Table() {
		if strings.HasPrefix(p.Name, "client.") && !slices.Contains([]string{
			"client.optimizer", "client.optimizer_state",
			"client.beta1", "client.beta2", "client.eps", "client.lr_schedule", "client.lr_over", "client.bias_decay",
		}, p.Name) {
			reflect.ValueOf(&full).Elem().FieldByIndex(p.Index).Set(reflect.ValueOf(&v).Elem().FieldByIndex(p.Index))
		}
	}
	return full.Client
}
