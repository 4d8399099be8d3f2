package command

import (
	_ "embed" // the schemas of outputs
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/key"
)

// describeVersion is the version of what describe prints. It changes when a program
// that reads it has to.
const describeVersion = 1

// outputSchemas has the version of what commands print with --json, and a JSON Schema for each.
// TestOutputs of cmd/fedfast holds the commands to it.
//
//go:embed outputs.json
var outputSchemas []byte

// described is everything that the program can be told.
type described struct {
	Describe  int                `json:"describe_version"`
	Version   workdir.Version    `json:"version"`
	Commands  []describedCommand `json:"commands"`
	StudyFile map[string]any     `json:"study_file"` // a JSON Schema
	JSON      json.RawMessage    `json:"json"`       // outputSchemas
}

type describedCommand struct {
	Command string          `json:"command"`
	Use     string          `json:"use"`
	Doc     string          `json:"doc"`
	Flags   []describedFlag `json:"flags"`
}

type describedFlag struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Default string `json:"default"`
	Doc     string `json:"doc"`
}

func newDescribe(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "describe",
		Short: "Print all commands, flags and keys as JSON, for programs",
		Args:  cobra.NoArgs,
		RunE: a.work(func(cmd *cobra.Command, _ []string) error {
			d := described{Describe: describeVersion, Version: workdir.ThisVersion(), StudyFile: studySchema(), JSON: outputSchemas}
			d.add(cmd.Root())
			return a.printJSON(d)
		}),
	}
}

// add describes a command and those below it.
func (d *described) add(cmd *cobra.Command) {
	if cmd.Hidden {
		return
	}
	c := describedCommand{Command: cmd.CommandPath(), Use: cmd.UseLine(), Doc: cmd.Short, Flags: []describedFlag{}}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { c.flag(f) })
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { c.flag(f) })
	d.Commands = append(d.Commands, c)
	for _, below := range cmd.Commands() {
		d.add(below)
	}
}

func (c *describedCommand) flag(f *pflag.Flag) {
	if !f.Hidden {
		_, doc := pflag.UnquoteUsage(f)
		c.Flags = append(c.Flags, describedFlag{"--" + f.Name, f.Value.Type(), f.DefValue, doc})
	}
}

// studySchema returns the JSON Schema of study files.
func studySchema() map[string]any {
	root := object("A study file of fedfast")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	for _, k := range config.Reference() {
		at := root
		names := strings.Split(k.Key, ".")
		for _, name := range names[:len(names)-1] {
			properties := at["properties"].(map[string]any)
			if properties[name] == nil {
				properties[name] = object("")
			}
			at = properties[name].(map[string]any)
		}
		if name := names[len(names)-1]; name == "NAME" { // any name
			at["additionalProperties"] = property(k)
		} else {
			at["properties"].(map[string]any)[name] = property(k)
		}
	}
	tables := root["properties"].(map[string]any)
	tables["space"] = map[string]any{"anyOf": []any{tables["space"], map[string]any{"const": "auto"}}}
	return root
}

// object returns the schema of a table without keys.
func object(doc string) map[string]any {
	t := map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}
	if doc != "" {
		t["description"] = doc
	}
	return t
}

// property returns the schema of a key.
func property(k config.KeyInfo) map[string]any {
	p := map[string]any{}
	of, list := strings.CutPrefix(k.Type, "list of ")
	value := p
	if list {
		of = strings.TrimSuffix(of, "s")
		value = map[string]any{}
		p["type"], p["items"] = "array", value
	}
	switch of {
	case "number", "integer":
		value["type"] = of
		if r, err := key.ParseRange(k.Allowed); err == nil && k.Allowed != "" {
			maps.Copy(value, r.Schema())
		}
	case "string":
		value["type"] = of
		if k.Allowed != "" {
			value["enum"] = strings.Split(k.Allowed, ", ")
		}
		if k.Key == "method" {
			value["enum"] = fl.Methods()
		}
	case "boolean":
		value["type"] = of
	case "table":
		value["type"] = "object"
	case "dimension":
		value["type"] = "object"
		value["minProperties"], value["maxProperties"] = 1, 1
	case "string or layers":
		value["type"] = []string{"string", "object"}
	}
	p["description"] = k.Doc
	if len(k.UsedBy) > 0 {
		p["description"] = fmt.Sprintf("%s (used by: %s)", k.Doc, strings.Join(k.UsedBy, ", "))
	}
	var d struct{ V any }
	if _, err := toml.Decode("v = "+k.Default, &d); err == nil && k.Default != "" {
		p["default"] = d.V
	}
	return p
}
