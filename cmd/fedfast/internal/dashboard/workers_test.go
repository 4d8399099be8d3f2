package dashboard

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/result"
)

// fetched asks for a path, and returns the status, the type and the text of the answer.
func fetched(t *testing.T, url string) (code int, kind, text string) {
	t.Helper()
	answer, err := browser.Get(url) //nolint:noctx // a short one
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Content-Type"), string(body)
}

// TestWorkersAreShown tells of a study with a cluster who is there and draws who trained
// what; of any other study it tells neither.
func TestWorkersAreShown(t *testing.T) {
	root := t.TempDir()
	st, round := recorded(t, filepath.Join(root, "with"))
	for _, w := range []result.WorkerRecord{
		{Worker: "box-1", State: result.WorkerJoined, Host: "box", Level: "avx2", Workers: 4},
		{Worker: "den-2", State: result.WorkerJoined, Host: "den"},
	} {
		if err := result.RecordWorker(st, w); err != nil {
			t.Fatal(err)
		}
	}
	if err := result.RecordLease(st, 0, 0, result.LeaseRecord{Lease: 1, Worker: "box-1"}); err != nil {
		t.Fatal(err)
	}
	round()
	round()
	if err := result.RecordWorker(st, result.WorkerRecord{Worker: "den-2", State: result.WorkerLost}); err != nil {
		t.Fatal(err)
	}
	if err := st.Flush(); err != nil {
		t.Fatal(err)
	}
	alone, _ := recorded(t, filepath.Join(root, "alone"))
	if err := alone.Flush(); err != nil {
		t.Fatal(err)
	}
	url := served(t, root)
	box := regexp.MustCompile(`"box-1","box","","avx2","4","[^"]+","here","1","2"`)
	for dir, want := range map[string]bool{"with": true, "alone": false} {
		code, kind, text := fetched(t, url+"/api/part?part=timeline&dir="+dir)
		if code != http.StatusOK || kind != "application/json" || strings.Contains(text, "Timeline of workers") != want || box.MatchString(text) != want {
			t.Errorf("the timeline of %s is %d %s %.300s", dir, code, kind, text)
		}
	}
}
