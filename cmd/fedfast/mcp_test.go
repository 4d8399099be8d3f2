package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agentOf connects the SDK's client to the program.
func agentOf(t *testing.T, flags ...string) (call func(tool string, args map[string]any) (string, bool),
	session *mcp.ClientSession,
) {
	t.Helper()
	program, err := exec.LookPath("fedfast") // TestMain puts it there
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"mcp"}, flags...)...)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err = client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return func(tool string, args map[string]any) (string, bool) {
		t.Helper()
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		return r.Content[0].(*mcp.TextContent).Text, !r.IsError
	}, session
}

// small is a training of a second or two.
func small(study string, rounds int) map[string]any {
	return map[string]any{
		"command": "run", "study": study,
		"settings": map[string]any{
			"rounds": rounds, "cohort": 4, "data.clients": 12, "data.samples": 30, "client.lr": 0.05,
			"method": "fedprox", "client.mu": 0.1,
		},
	}
}

// TestAgent trains and reads a study as an agent does.
func TestAgent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call, session := agentOf(t, "--dir", dir, "--budget", "10m")
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 9 {
		t.Fatalf("tools: %v, %v", tools, err)
	}
	if text, ok := call("list", map[string]any{"kind": "methods", "name": "fedprox"}); !ok ||
		!strings.Contains(text, "client.mu") {
		t.Errorf("list: %s", text)
	}
	start := small("first", 5)
	var cost struct {
		Seconds float64
		Memory  float64 `json:"memory_bytes"`
	}
	text, ok := call("estimate", map[string]any{"command": "run", "settings": start["settings"]})
	if err := json.Unmarshal([]byte(text), &cost); !ok || err != nil || !(cost.Seconds > 0) || !(cost.Memory > 1e6) {
		t.Errorf("estimate: %s", text)
	}
	if text, ok := call("start", start); !ok || !strings.Contains(text, `"limit_seconds"`) {
		t.Fatalf("start: %s", text)
	}
	var rounds int
	for state, next := "running", 0; state == "running"; {
		text, ok := call("watch", map[string]any{"study": "first", "after": next, "wait_seconds": 30})
		var seen struct {
			State string
			Next  int
			Rows  []struct{ Event string }
		}
		if err := json.Unmarshal([]byte(text), &seen); !ok || err != nil {
			t.Fatalf("watch: %s", text)
		}
		state, next = seen.State, seen.Next
		for _, r := range seen.Rows {
			if r.Event == "round" {
				rounds++
			}
		}
		if state != "running" && state != "completed" {
			t.Fatalf("state %s", state)
		}
	}
	if rounds != 5 {
		t.Errorf("%d rounds were seen, want 5", rounds)
	}
	if text, ok := call("show", map[string]any{"study": "first"}); !ok || !strings.Contains(text, `"weights_sha256"`) {
		t.Errorf("show: %s", text)
	}
	for after, want := range []string{
		`{"more":true,"next":2,`, `{"more":true,"next":3,`, `{"more":true,"next":4,`,
		`{"more":false,"next":5,`, `{"more":false,"next":5,`, `{"more":false,"next":5,"rows":[]}`,
	} {
		args := map[string]any{"study": "first", "table": "rounds", "after": after, "limit": 2}
		if text, ok := call("export", args); !ok || !strings.HasPrefix(text, want) {
			t.Errorf("export after %d: %s", after, text)
		}
	}
	if text, ok := call("studies", nil); !ok || !strings.Contains(text, `"completed"`) ||
		!strings.Contains(text, `"running":[]`) {
		t.Errorf("studies: %s", text)
	}
	for _, wrong := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"show", map[string]any{"study": "../first"}, "must be a name"},
		{"show", map[string]any{"study": "--help"}, "must be a name"},
		{"start", small("first", 5), "exists"},
		{
			"start",
			map[string]any{"command": "run", "study": "b", "settings": map[string]any{"client.lr": -1}},
			"client.lr = -1",
		},
		{"start", map[string]any{"command": "bench", "study": "b"}, "must be run or tune"},
		{"stop", map[string]any{"study": "first"}, "not running"},
		{"list", map[string]any{"kind": "methods", "name": "fedproxx"}, `did you mean "fedprox"`},
		{"watch", map[string]any{"study": "none"}, "no study"},
		{"resume", map[string]any{"study": "none"}, "no study"},
		{"export", map[string]any{"study": "first", "table": "rounds", "after": -1}, "after = -1"},
	} {
		if text, ok := call(wrong.tool, wrong.args); ok || !strings.Contains(text, wrong.want) ||
			strings.Contains(text, "\n") {
			t.Errorf("%s %v: %q, want %q", wrong.tool, wrong.args, text, wrong.want)
		}
	}
	if text, ok := call("show", map[string]any{"study": 3}); ok {
		t.Errorf("a number for a name: %s", text)
	}
}

// TestAgentBudget exceeds a budget, before a training and while it runs.
func TestAgentBudget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call, session := agentOf(t, "--dir", dir, "--budget", "20s")
	if text, ok := call("start", small("long", 1_000_000)); ok || !strings.Contains(text, "would take about") {
		t.Errorf("start: %s", text)
	}
	start := small("cut", 3000)
	start["max_seconds"] = 2
	text, ok := call("start", start)
	if !ok { // a slow machine estimates more
		if !strings.Contains(text, "would take about") {
			t.Fatalf("start: %s", text)
		}
		return
	}
	if text, ok := call("start", small("second", 5)); ok || !strings.Contains(text, "at most 1 training") &&
		!strings.Contains(text, "budget") {
		t.Errorf("a second training: %s", text)
	}
	text, _ = call("stop", map[string]any{"study": "cut"})
	if !strings.Contains(text, "interrupted") && !strings.Contains(text, "completed") &&
		!strings.Contains(text, "not running") {
		t.Errorf("stop: %s", text)
	}
	if err := session.Close(); err != nil {
		t.Log(err)
	}
	out, err := exec.Command("fedfast", "study", "show", filepath.Join(dir, "cut"), "--json").Output()
	var shown struct{ State string }
	if err != nil || json.Unmarshal(out, &shown) != nil || !slices.Contains([]string{"interrupted", "completed"},
		shown.State) {
		t.Errorf("study show: %s, %v", out, err)
	}
}

// TestAgentOutlivesBadLines sends lines that are no messages: each is answered, and the session
// goes on.
func TestAgentOutlivesBadLines(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "fedfast", "mcp", "--dir", t.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, 1<<20)
	for _, tt := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`, `"serverInfo"`},
		{`{"jsonrpc":"2.0",`, `"code":-32700`},
		{"\x00\xff no JSON", `"code":-32700`},
		{`{"jsonrpc":"2.0","id":2,"method":"ping"} {`, `"code":-32700`},
		{`[]`, `"code":-32600`},
		{`7`, `"code":-32600`},
		{`{"jsonrpc":"1.0","id":3,"method":"ping"}`, `"code":-32600`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"code":-32600`},
		{strings.Repeat("[", 5<<20), `"code":-32600`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":7}`, `"id":4`},
		{"\r\n" + `{"jsonrpc":"2.0","id":5,"method":"ping"}` + "\r", `"id":5`},
	} {
		if _, err := io.WriteString(in, tt.line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() || !strings.Contains(answers.Text(), tt.want) {
			t.Fatalf("%.80q: the answer is %q (%v), want %s", tt.line, answers.Text(), answers.Err(), tt.want)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("at the end of its input it ends with %v", err)
	}
}

// TestAgentFollowsNoLinks names studies that are links out of the directory.
func TestAgentFollowsNoLinks(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	for _, file := range []string{"study.db", "config.toml", "metrics.jsonl"} {
		if err := os.WriteFile(filepath.Join(elsewhere, file), []byte("{\"secret\":1}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(elsewhere, file), filepath.Join(dir, file, file)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	call, _ := agentOf(t, "--dir", dir)
	for _, study := range []string{"out", "out/x", "study.db", "config.toml", "metrics.jsonl"} {
		for _, tool := range []string{"show", "watch", "resume"} {
			if text, ok := call(tool, map[string]any{"study": study}); ok || !strings.Contains(text, "is a link") {
				t.Errorf("%s of %s: %s", tool, study, text)
			}
		}
	}
}
