// Package agent serves the program to agents by the Model Context Protocol: tools
// that list, estimate, start, watch, stop and read studies below one directory. Each
// tool runs the program itself with --json, so an agent gets what scripts get, and
// errors are the program's one line.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Config says what a server may do.
type Config struct {
	// Program is the path of the program, Args are flags of every call of it.
	Program string
	Args    []string
	// Dir is the directory of all studies.
	Dir string
	// Budget bounds the seconds that all trainings of the server take together, on
	// the clock. A training that would exceed it is not started, and one that does is
	// interrupted: its study can be resumed.
	Budget time.Duration
	// Jobs bounds the trainings that run at the same time.
	Jobs int
	// Version is the program's.
	Version string
}

// Server starts trainings and follows them.
type Server struct {
	Config
	mu    sync.Mutex
	jobs  map[string]*job // by study
	spent time.Duration   // by jobs that have ended
}

// Serve answers one client on stdin and stdout until it leaves or ctx ends. Trainings
// that still run are then interrupted, and their studies can be resumed.
func Serve(ctx context.Context, c Config) error {
	s := &Server{Config: c, jobs: map[string]*job{}}
	defer s.close()
	err := s.server().Run(ctx, transport(os.Stdin, os.Stdout))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// server returns the tools.
func (s *Server) server() *mcp.Server {
	out := mcp.NewServer(&mcp.Implementation{Name: "fedfast", Title: "fedfast: federated learning on CPUs", Version: s.Version}, &mcp.ServerOptions{
		Instructions: "Simulate federated learning and tune its hyperparameters. Look up names with list, check the cost with estimate, " +
			"then start a study, watch it until its state is completed, and read it with show and export. Studies are durable: an interrupted one goes on with resume.",
	})
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(out, &mcp.Tool{Name: "list", Annotations: reads, Description: "List what a study file can name: keys " +
		"(with types, defaults and ranges), methods, models, layers, losses, tuners, probes, data, presets; or show one " +
		"entry."}, s.list)
	mcp.AddTool(out, &mcp.Tool{Name: "studies", Annotations: reads, Description: "List all studies with their states, and what is left of the budget."}, s.studies)
	mcp.AddTool(out, &mcp.Tool{Name: "estimate", Annotations: reads, Description: "Estimate the seconds and the memory " +
		"of a training on this machine without starting it, and check its configuration."}, s.estimate)
	mcp.AddTool(out, &mcp.Tool{Name: "start", Description: "Start a training (run) or a study of many trials (tune) in a new directory, in the background."}, s.start)
	mcp.AddTool(out, &mcp.Tool{Name: "resume", Description: "Resume an interrupted study in the background."}, s.resume)
	mcp.AddTool(out, &mcp.Tool{Name: "watch", Annotations: reads, Description: "Return the events of a study after a number of events, waiting for new ones for up to a minute."}, s.watch)
	mcp.AddTool(out, &mcp.Tool{Name: "stop", Description: "Interrupt a training of this server. It finishes its round and saves the study."}, s.stop)
	mcp.AddTool(out, &mcp.Tool{Name: "show", Annotations: reads, Description: "Show the result of a study, finished or not: trials, models and their errors, curves."}, s.show)
	mcp.AddTool(out, &mcp.Tool{Name: "export", Annotations: reads, Description: "Read rows of a table of a study: " +
		"trials, rounds, rungs, decisions, reports, sessions, clients and others. Where there are more, ask again after " +
		"next."}, s.export)
	return out
}

// studyName is the form of the name of a study: no path outside of the directory, no
// flag, no hidden file.
var studyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}(/[A-Za-z0-9][A-Za-z0-9_.-]{0,63})?$`)

// path returns the directory of a study, which no link leads out of the one of all.
func (s *Server) path(study string) (string, error) {
	if !studyName.MatchString(study) {
		return "", fmt.Errorf("study %.80q: must be a name of letters, digits, dots, dashes and underscores, such as first or seeds/seed-1", study)
	}
	dir := s.Dir
	for part := range strings.SplitSeq(study, "/") {
		dir = filepath.Join(dir, part)
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			return "", fmt.Errorf("study %q: %s is a link or a file, must be a directory", study, part)
		}
	}
	for _, file := range []string{"study.db", "config.toml", "metrics.jsonl"} {
		if info, err := os.Lstat(filepath.Join(dir, file)); err == nil && !info.Mode().IsRegular() {
			return "", fmt.Errorf("study %q: its %s is a link, must be a file", study, file)
		}
	}
	return dir, nil
}

// result is what the program printed, as it is.
type result = json.RawMessage

// answer calls the program and returns the JSON that it prints.
func (s *Server) answer(ctx context.Context, args ...string) (*mcp.CallToolResult, any, error) {
	text, err := s.call(ctx, append(args, "--json")...)
	if err != nil {
		return nil, nil, err
	}
	return printed(text), nil, nil
}

// printed is an answer in the program's own words.
func printed(text []byte) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}
}

// encoded is an answer as JSON.
func encoded(v any) (*mcp.CallToolResult, any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, nil, err
	}
	return printed(text), nil, nil
}

// Listed names a list, and an entry of it.
type Listed struct {
	Kind string `json:"kind" jsonschema:"keys, methods, models, layers, losses, tuners, probes, data or presets"`
	Name string `json:"name,omitempty" jsonschema:"show this entry alone"`
}

func (s *Server) list(ctx context.Context, _ *mcp.CallToolRequest, in Listed) (*mcp.CallToolResult, any, error) {
	if !studyName.MatchString(in.Kind) || in.Name != "" && in.Name[0] == '-' {
		return nil, nil, errors.New("kind must be keys, methods, models, layers, losses, tuners, probes, data or presets")
	}
	args := []string{"list", in.Kind}
	if in.Name != "" {
		args = append(args, in.Name)
	}
	return s.answer(ctx, args...)
}

func (s *Server) studies(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	text, err := s.call(ctx, "study", "list", s.Dir, "--json")
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return encoded(map[string]any{"studies": result(text), "running": s.running(), "seconds_left": s.left().Seconds()})
}

// Named names a study.
type Named struct {
	Study string `json:"study" jsonschema:"name of the study"`
}

func (s *Server) show(ctx context.Context, _ *mcp.CallToolRequest, in Named) (*mcp.CallToolResult, any, error) {
	dir, err := s.path(in.Study)
	if err != nil {
		return nil, nil, err
	}
	return s.answer(ctx, "study", "show", dir)
}

// Table names rows of a table.
type Table struct {
	Study string `json:"study" jsonschema:"name of the study"`
	Table string `json:"table" jsonschema:"trials, rounds, rungs, decisions, reports, sessions or another table; an unknown name lists all"`
	After int    `json:"after,omitempty" jsonschema:"skip this number of rows"`
	Limit int    `json:"limit,omitempty" jsonschema:"number of rows, at most and by default 500"`
}

func (s *Server) export(ctx context.Context, _ *mcp.CallToolRequest, in Table) (*mcp.CallToolResult, any, error) {
	dir, err := s.path(in.Study)
	if err != nil {
		return nil, nil, err
	}
	if !studyName.MatchString(in.Table) {
		return nil, nil, fmt.Errorf("table %.80q: must be a name such as trials", in.Table)
	}
	if in.After < 0 {
		return nil, nil, fmt.Errorf("after = %d: must be at least 0", in.After)
	}
	if in.Limit <= 0 || in.Limit > maxRows {
		in.Limit = maxRows
	}
	text, err := s.call(ctx, "study", "export", dir, "--table", in.Table, "--format", "jsonl", "--after", strconv.Itoa(in.After), "--limit", strconv.Itoa(in.Limit+1))
	if err != nil {
		return nil, nil, err
	}
	rows := lines(text)
	more := len(rows) > in.Limit
	rows = rows[:min(len(rows), in.Limit)]
	return encoded(map[string]any{"rows": append([]result{}, rows...), "next": in.After + len(rows), "more": more})
}
