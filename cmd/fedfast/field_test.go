package main

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var updateCompared = flag.Bool("update-compared", false, "rewrite fedfast's column in bench/results/compared.md")

// ours are the names by which fedfast has, or would have, what rows of compared.md are about.
var ours = map[string][]string{
	"differential privacy of the updates": {"dp.noise"},
	"secure aggregation, encryption":      {"secagg"},
	"GPUs":                                {"gpu"},
	"FjORD, AnycostFL, choice among ResNets (SysHeteroFL)": {"fjord", "anycostfl"},
	"LG-FedAvg, FedALA":                      {"lgfedavg", "fedala"},
	"pFedGraph, Hermes":                      {"pfedgraph", "hermes"},
	"adapters of language models (LoRA)":     {"lora"},
	"FedBN":                                  {"fedbn"},
	"MOON":                                   {"moon"},
	"APFL":                                   {"apfl"},
	"FedEM":                                  {"fedem"},
	"Mime Lite":                              {"mimelite"},
	"Mime":                                   {"mime"},
	"clusters of clients (HypCluster, IFCA)": {"ifca"},
	"fairness: agnostic FedAvg, q-FedAvg":    {"afl", "qfedavg"},
	"distillation on the server (FedDF)":     {"feddf"},
	"asynchronous rounds (FedAsync, FedBuff)":  {"async", "buffered"},
	"compressed or quantised updates":          {"update.sparsify", "update.quantize"},
	"robust aggregation (Krum, median, ...)":   {"krum", "median"},
	"choice of clients by utility (Oort, ...)": {"oort", "power"},
	"attacks":                      {"update.attack"},
	"BO by kernel densities, BOHB": {"tpe", "bohb"},
	"BO by random forests":         {"smac"},
	"FTS, pFedHPO":                 {"fts", "pfedhpo"},
	"recorded tables to test tuners on (FedHPO-Bench)": {"table record"},
	"speeds of clients, simulated time":                {"fleet.flops", "time.mode"},
}

// registered are the names of all that this program's lists and describe have.
func registered(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	var walk func(x any, key string)
	walk = func(x any, key string) {
		switch x := x.(type) {
		case map[string]any:
			properties, _ := x["properties"].(map[string]any)
			for name, v := range properties {
				names[key+name] = true
				walk(v, key+name+".")
			}
			for name, v := range x {
				text, isText := v.(string)
				switch {
				case isText && (name == "name" || name == "type" || name == "command"):
					names[strings.TrimPrefix(text, "fedfast ")] = true
				case name != "properties":
					walk(v, key)
				}
			}
		case []any:
			for _, v := range x {
				if text, ok := v.(string); ok {
					names[text] = true // one of the values of a key
				}
				walk(v, key)
			}
		}
	}
	for _, command := range []string{
		"describe", "list methods --json", "list tuners --json", "list models --json",
		"list layers --json", "list data --json",
	} {
		out, err := exec.CommandContext(t.Context(), "fedfast", strings.Fields(command)...).Output()
		if err != nil {
			t.Fatalf("fedfast %s: %v", command, err)
		}
		var x any
		if err := json.Unmarshal(out, &x); err != nil {
			t.Fatal(command, err)
		}
		walk(x, "")
	}
	return names
}

// TestCompared holds fedfast's column of compared.md: what is registered is
// no "no", what is not is no "yes", and each "no" says by which names it would be one.
// -update-compared writes it.
func TestCompared(t *testing.T) {
	t.Parallel()
	names, seen := registered(t), map[string]bool{}
	for _, name := range []string{"compared.md"} {
		page := filepath.Join(root, "bench", "results", name)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		lines := compare(t, name, strings.Split(string(text), "\n"), names, seen)
		if *updateCompared {
			if err := os.WriteFile(page, []byte(strings.Join(lines, "\n")), 0o644); err != nil { //nolint:gosec // a page of the project
				t.Fatal(err)
			}
		}
	}
	for label := range ours {
		if !seen[label] {
			t.Errorf("no page has a row %q", label)
		}
	}
}

// compare returns a page's lines with fedfast's column as it has to be, and notes in seen which
// rows of ours it has.
func compare(t *testing.T, page string, lines []string, names, seen map[string]bool) []string {
	t.Helper()
	letters := regexp.MustCompile(`[^a-z0-9]+`)
	table := false
	for i, line := range lines {
		table = strings.HasPrefix(line, "| | fedfast |") || table && strings.HasPrefix(line, "|")
		cells := strings.Split(line, " | ")
		label := strings.TrimPrefix(cells[0], "| ")
		if !table || len(cells) < 3 || strings.HasPrefix(label, "*") {
			continue
		}
		no := strings.HasPrefix(strings.Trim(cells[1], "*"), "no")
		words, known := ours[label]
		if known {
			seen[label] = true
			has := true
			for _, w := range words {
				has = has && names[w]
			}
			if has == no {
				cells[1] = map[bool]string{true: "yes", false: "**no**"}[has]
				lines[i] = strings.Join(cells, " | ")
				if !*updateCompared {
					t.Errorf("%s:%d: %q of fedfast is %v by %q; run with -update-compared", page, i+1, label, has, words)
				}
			}
			continue
		}
		if !no {
			continue
		}
		t.Errorf("%s:%d: %q is a no, and this test does not know by which name it would be registered", page, i+1, label)
		for _, part := range regexp.MustCompile(`[,(:]`).Split(label, -1) {
			if w := letters.ReplaceAllString(strings.ToLower(part), ""); names[w] {
				t.Errorf("%s:%d: %q is registered as %s", page, i+1, label, w)
			}
		}
	}
	return lines
}
