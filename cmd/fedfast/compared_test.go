//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// said are the sentences of a comparison as `fedfast report`, its page and `fedfast ui` say them.
func said(t *testing.T, dir string, names ...string) (terminal, page, served []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "fedfast", append([]string{"report", "--out", "all.html"}, names...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	terminal = strings.Split(strings.TrimSuffix(string(out), "\nall.html\n"), "\n")
	text, err := os.ReadFile(filepath.Join(dir, "all.html"))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), "<section")
	for _, m := range regexp.MustCompile(`<p class="answer">(.*?)</p>`).FindAllStringSubmatch(head, -1) {
		page = append(page, html.UnescapeString(strings.NewReplacer("<strong>", "", "</strong>", "").Replace(m[1])))
	}
	open, home, stop := startUI(t, dir, "127.0.0.1:0")
	defer stop()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	query := url.Values{}
	query.Add("dir", names[0]) // the directory of all its seeds
	for _, name := range names[1:] {
		found, err := filepath.Glob(filepath.Join(dir, name, "seed-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, seed := range found {
			query.Add("dir", name+"/"+filepath.Base(seed))
		}
	}
	for _, address := range []string{open, strings.TrimSuffix(home, "/") + "/api/compare?" + query.Encode()} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var c struct{ Text []string }
		if err := json.NewDecoder(answer.Body).Decode(&c); err != nil && address != open {
			t.Fatal(answer.Status, err)
		}
		served = c.Text
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return terminal, page, served
}

// paired is what is said where seeds pair, the models being judged by a target.
func paired(target string) []string {
	return []string{
		"^Lowest " + target + " test error: ",
		"\nAgainst plain, paired by seed .90 % intervals.: near is (equal|[0-9.]+ .- [0-9.]+ points (lower|higher))",
		"\nAlways guessing .* most frequent class: [0-9.]+ % " + target + " test error.",
		"\n(plain|near|own): Stopped early in [12] of 2 seeds, at rounds [0-9, ]+, since the validation error did not improve; the returned models are of rounds [0-9, ]+\\.",
	}
}

// TestComparisonsSayTheSame compares methods on three surfaces: by the global model, where one of
// them is for personalized models by these.
func TestComparisonsSayTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, method := range map[string]string{"plain": "fedavg", "near": "fedprox", "own": "ditto", "far": "fedavg"} {
		cmd := exec.CommandContext(t.Context(), "fedfast", "run", "--seeds", "2", "--study", name, "--set", "name="+name,
			"--set", "method="+method,
			"--set", "model=logistic", "--set", "data.clients=20", "--set", "data.samples=20", "--set", "rounds=8", "--set",
			"eval.every=1", "--set", "eval.patience=1", "--set", "client.momentum=0")
		switch cmd.Dir = dir; name {
		case "near":
			cmd.Args = append(cmd.Args, "--set", "client.mu=0.1")
		case "own":
			cmd.Args = append(cmd.Args, "--set", "client.lambda=0.5")
		case "far":
			cmd.Args = append(cmd.Args, "--set", "seed=10", "--set", "cohort=4")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
	for names, wants := range map[string][]string{
		"plain near":     paired("global"),
		"plain near own": paired("personalized"),
		"plain far":      {"^Global test error: (plain|far) [0-9.]+ .- [0-9.]+ %, (equal to )?(plain|far) [0-9.]+( .- [0-9.]+)? %; without a seed in common, the difference may be chance\\.\n"},
	} {
		terminal, page, served := said(t, dir, strings.Fields(names)...)
		for i, s := range served {
			served[i] = strings.ReplaceAll(s, "±", "+-")
		}
		for i, s := range page {
			page[i] = strings.ReplaceAll(s, "±", "+-")
		}
		if !slices.Equal(terminal, page) || !slices.Equal(page, served) {
			t.Errorf("terminal %q\npage     %q\nui       %q", terminal, page, served)
		}
		all := strings.Join(terminal, "\n")
		for _, want := range wants {
			if !regexp.MustCompile(want).MatchString(all) {
				t.Errorf("%s is not in\n%s", want, all)
			}
		}
	}
}
