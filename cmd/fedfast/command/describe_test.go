package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/fedfast/fedfast/fl/study/config"
)

// TestOutputSchemas reads the schemas of outputs with an independent reader of JSON Schema.
func TestOutputSchemas(t *testing.T) {
	var all struct {
		Version int                           `json:"version"`
		Outputs map[string]*jsonschema.Schema `json:"outputs"`
	}
	if err := json.Unmarshal(outputSchemas, &all); err != nil || all.Version < 1 || len(all.Outputs) < 35 {
		t.Fatalf("version %d, %d outputs, %v", all.Version, len(all.Outputs), err)
	}
	for name, schema := range all.Outputs {
		if _, err := schema.Resolve(nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	version, err := all.Outputs["version"].Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if version.Validate(map[string]any{"version": 1.0}) == nil {
		t.Error("version: any object is accepted")
	}
}

// TestStudySchema validates study files with an independent reader of JSON Schema.
func TestStudySchema(t *testing.T) {
	text, err := json.Marshal(studySchema())
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	validate := func(file string) error {
		var values map[string]any
		if _, err := toml.Decode(file, &values); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		text, err := json.Marshal(values) // as a program that reads JSON has it
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(plain)
	}
	for _, p := range config.Presets() {
		text, err := config.PresetText(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(text); err != nil {
			t.Errorf("preset %s: %v", p.Name, err)
		}
	}
	networks, err := filepath.Glob("../../../bench/networks/*.toml")
	if err != nil || len(networks) == 0 {
		t.Fatalf("networks: %v, %v", networks, err)
	}
	for _, path := range networks {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(string(text)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, wrong := range []string{
		`client.lr = 0`, `client.lr = "0.1"`, `client.dropout = -0.5`, `rounds = 0.5`, `method = "fedxyz"`,
		`precision = "fp64"`, `client.lrr = 1`, `data.hi = [2]`, `space."client.lr" = 3`,
		`space = "fine"`,
	} {
		if validate(wrong) == nil {
			t.Errorf("%s: accepted", wrong)
		}
	}
	for _, right := range []string{
		`client.dropout = -1`, `client.dropout = 0.5`, `data.hi = [0, 1]`,
		`space."client.lr" = {log10 = [-3, 0]}`, `space = "auto"`,
	} {
		if err := validate(right); err != nil {
			t.Errorf("%s: %v", right, err)
		}
	}
}
