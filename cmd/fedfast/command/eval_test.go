package command

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl"
)

// call runs a command line and returns what it prints as JSON.
func call(t *testing.T, args ...string) map[string]any {
	t.Helper()
	var out, log bytes.Buffer
	if code := (&app{out: &out, err: &log}).main(append(args, "--json")); code != 0 {
		t.Fatalf("%q ends with code %d: %s", args, code, &log)
	}
	var result map[string]any
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return result
}

// TestEvalRepeatsEveryMethod holds that eval of a run has its errors and notes nothing, with
// weights of a file to begin with and without.
func TestEvalRepeatsEveryMethod(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, name := range fl.Methods() {
		if testing.Short() && i%4 > 0 && name != "ditto" {
			continue
		}
		hidden := `{type="dense", units=4}`
		switch m, err := fl.MethodByName(name); {
		case err != nil:
			t.Fatal(err)
		case m.Models != nil: // which train large networks alone
			continue
		case name == "fedbn":
			hidden += `, {type="batchnorm"}`
		}
		run := []string{
			"run", "--set", "data.clients=4", "--set", "data.samples=24", "--set", "rounds=2", "--set", "cohort=2", "--set",
			"client.lr=0.02", "--set", "client.batch=8",
			"--set", "method=" + name, "--set", `model.layers=[{type="flatten"}, ` + hidden + `, {type="relu"}, {type="dense"}]`,
		}
		for _, dir := range []string{"plain", "begun"} {
			if name == "ifca" && dir == "begun" { // its models begin apart
				continue
			}
			dir = filepath.Join(name, dir)
			args := slices.Concat(run, []string{"--study", dir})
			if filepath.Base(dir) == "begun" {
				args = append(args, "--init", filepath.Join(name, "plain", "model.safetensors"))
			}
			want, got := call(t, args...), call(t, "eval", dir)
			for _, key := range []string{"global_test_error", "personalized_test_error", "evaluation", "weights_sha256"} {
				if !reflect.DeepEqual(got[key], want[key]) {
					t.Errorf("%s: %s is %v, in the study %v", dir, key, got[key], want[key])
				}
			}
			if got["notes"] != nil {
				t.Errorf("%s: it notes %v", dir, got["notes"])
			}
		}
	}
}
