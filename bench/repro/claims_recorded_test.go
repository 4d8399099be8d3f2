package repro

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestClaimsAreThoseRecorded makes the table of claims of papers.md again from the
// recorded metrics.
func TestClaimsAreThoseRecorded(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the last digit of an interval may be another one where multiply-adds are fused")
	}
	page, err := os.ReadFile(filepath.Join(results, "papers.md"))
	if err != nil {
		t.Fatal(err)
	}
	claims, err := AbstractClaims(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	var top strings.Builder
	claims.WriteMarkdown(&top)
	if !strings.Contains(string(page), top.String()) {
		t.Errorf("the claims at the top of papers.md are stale: `repro merge bench/results/repro --claims` writes\n%s", &top)
	}
}
