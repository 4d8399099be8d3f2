package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// packOf writes lines, and a seal of them unless they end in one, as a pack.
func packOf(t testing.TB, lines ...string) string {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	sum := sha256.New()
	for _, line := range lines {
		_, _ = io.MultiWriter(zip, sum).Write([]byte(line + "\n"))
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, "sha256") && last != "" {
		fmt.Fprintf(zip, "{\"sha256\":%q}\n", hex.EncodeToString(sum.Sum(nil)))
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pack")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	head = `{"fedfast_pack":1,"record":1}`
	row0 = `{"kind":"study","trial":-1,"round":0,"at":1,"data":{"name":"<a>"}}`
)

// TestPacksComeBack packs a record and reads it.
func TestPacksComeBack(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := [][2]string{
		{KindStudy, `{"name":"<a>\u003cb"}`}, {KindRound, `{"score":1e-9}`}, {KindWorker, `{}`}, {KindResult, `{}`},
	}
	for i, r := range rows {
		if err := s.Append(r[0], i, i, []byte(r[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	v, err := Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }() // it was read only
	path := filepath.Join(t.TempDir(), "pack")
	if _, err := v.Pack(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	again, err := Look(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := again.Each(t.Context(), func(r Row) error {
		got = append(got, fmt.Sprintf("%s %d %d %s", r.Kind, r.Trial, r.Round, r.Data))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("[study 0 0 %s round 1 1 %s result 3 3 {}]", rows[0][1], rows[1][1])
	if fmt.Sprint(got) != want {
		t.Errorf("%s came back, want %s", got, want)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestHostilePacks reads files that nobody packed: each is a line, in bounded memory.
func TestHostilePacks(t *testing.T) {
	row := func(kind string, trial, round int64) []string {
		text := fmt.Sprintf(`{"kind":%q,"trial":%d,"round":%d,"at":0,"data":{}}`, kind, trial, round)
		return []string{head, row0, text}
	}
	sealOf := func(more string) string {
		return fmt.Sprintf(`{"sha256":"%x"%s}`, sha256.Sum256([]byte(head+"\n"+row0+"\n")), more)
	}
	after := []string{head, row0, sealOf(""), row0, ""}
	for name, tt := range map[string]struct {
		lines []string
		says  string
	}{
		"nothing":        {[]string{""}, "not a packed study"},
		"another record": {[]string{`{"fedfast_pack":1,"record":7}`}, "of format 7, want 1 and 1; use the version"},
		"another format": {[]string{`{"fedfast_pack":2,"record":1}`}, "a pack of format 2"},
		"no seal":        {[]string{head, row0, ""}, "does not end in a seal"},
		"no digest":      {[]string{head, row0, "null", ""}, "does not end in a seal"},
		"another digest": {[]string{head, row0, `{"sha256":"00"}`}, "does not end in a seal with its SHA-256"},
		"a short key":    {[]string{head, row0, sealOf(`,"key":"AAAA"`)}, "its signature is not one"},
		"no key":         {[]string{head, row0, sealOf(`,"signature":"AAAA"`)}, "its signature is not one"},
		"another key": {
			[]string{head, row0, sealOf(`,"key":"` + strings.Repeat("A", 43) + `=","signature":"AAAA"`)},
			"its signature is not one",
		},
		"behind the seal":    {after, "does not end in a seal"},
		"an unknown kind":    {row("../../x", 0, 0), "a row of kind"},
		"a worker's row":     {row("lease", 0, 0), "a row of kind lease"},
		"no study":           {append([]string{head}, row("round", 0, 1)[2]), "a row of kind round there"},
		"two studies":        {row("study", 0, 0), "a row of kind study there"},
		"a round below 0":    {row("round", 0, -1), "round -1 of trial 0"},
		"a trial beyond all": {row("round", 99999999999, 1), "of trial 99999999999"},
		"unknown keys":       {[]string{head, row0, `{"kind":"round","path":"/etc/passwd"}`}, "unknown field"},
		"no JSON":            {[]string{head, row0, `{"kind":`}, "damaged in line 3"},
	} {
		t.Run(name, func(t *testing.T) {
			path := packOf(t, tt.lines...)
			var before, end runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			s, _, err := Unpack(t.Context(), path)
			runtime.ReadMemStats(&end)
			if err == nil {
				_ = s.Close()
				t.Fatal("no error")
			}
			text := err.Error()
			if !strings.Contains(text, tt.says) || strings.ContainsAny(text, "\n\x1b") || len(text) > 400 {
				t.Errorf("%q, want a line with %q", text, tt.says)
			}
			if grown := end.TotalAlloc - before.TotalAlloc; grown > 8*maxData {
				t.Errorf("it took %d bytes", grown)
			}
		})
	}
}

// TestPackBombs reads a small file that holds more than any pack.
func TestPackBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	path := filepath.Join(t.TempDir(), "pack")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	zip := gzip.NewWriter(f)
	fmt.Fprintln(zip, head)
	fmt.Fprintln(zip, row0)
	row := `{"kind":"round","trial":0,"round":1,"at":0,"data":{"x":"` + strings.Repeat("x", 1<<20) + `"}}` + "\n"
	for range mostPacked>>20 + 1 {
		_, _ = io.WriteString(zip, row)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err = Unpack(t.Context(), path)
	if err == nil || !strings.Contains(err.Error(), "it holds more than 134 MB") {
		t.Error(err)
	}
}

// FuzzUnpack reads lines of any content: they are a study whose rows are JSON, or an error.
func FuzzUnpack(f *testing.F) {
	f.Add(head + "\n" + row0)
	f.Add(head + "\n" + row0 + "\n" + `{"kind":"round","trial":0,"round":1,"at":0,"data":{"score":null}}`)
	f.Add(head + "\n" + row0 + "\n" + `{"sha256":""}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, _, err := Unpack(context.Background(), packOf(t, strings.Split(text, "\n")...))
		if err != nil {
			return
		}
		defer func() { _ = s.Close() }() // it was read only
		if err := s.Each(t.Context(), func(r Row) error {
			if !json.Valid(r.Data) {
				t.Errorf("row %q", r.Data)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
}
