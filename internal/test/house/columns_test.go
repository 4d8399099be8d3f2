package house

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostColumns is how long a line of Go may be.
const mostColumns = 120

// longLines is how many lines of each room are longer, first without tests, then of tests. The
// numbers only ever fall: whoever touches such a line breaks it.
var longLines = map[string][2]int{
	"bench":                          {55, 5},
	"bench/repro":                    {135, 25},
	"cmd":                            {293, 83},
	"data":                           {25, 3},
	"data/sets":                      {1, 3},
	"fl":                             {138, 15},
	"fl/fleet":                       {14, 1},
	"fl/hyper":                       {7, 0},
	"fl/methods":                     {63, 5},
	"fl/study":                       {89, 23},
	"fl/study/cluster":               {4, 2},
	"fl/study/cluster/internal/wire": {2, 0},
	"fl/study/config":                {61, 9},
	"fl/study/internal/estimate":     {8, 0},
	"fl/study/internal/meter":        {5, 0},
	"fl/study/internal/record":       {10, 0},
	"fl/study/internal/replay":       {3, 0},
	"fl/study/internal/trial":        {11, 0},
	"fl/study/result":                {9, 5},
	"fl/study/view":                  {32, 10},
	"fl/study/workdir":               {18, 0},
	"internal/deal":                  {11, 0},
	"internal/figure":                {14, 2},
	"internal/formats":               {8, 5},
	"internal/key":                   {2, 1},
	"internal/privacy":               {3, 0},
	"internal/rules":                 {14, 0},
	"internal/scaffold":              {2, 1},
	"internal/sets":                  {141, 32},
	"internal/stats":                 {1, 0},
	"internal/store":                 {24, 7},
	"internal/sys":                   {5, 0},
	"internal/test":                  {0, 7},
	"internal/tuner":                 {73, 15},
	"kernels":                        {120, 19},
	"kernels/det":                    {1, 1},
	"nn":                             {113, 36},
	"nn/safetensors":                 {4, 0},
	"plugins":                        {4, 1},
	"tensor":                         {29, 5},
	"tuners":                         {24, 0},
	"tuners/conformance":             {26, 0},
	"tuners/host":                    {20, 0},
}

// TestLinesKeepTheirLength fails when a room has more long lines than it had, and when it has
// become so much better that its number is to be lowered.
func TestLinesKeepTheirLength(t *testing.T) {
	found := map[string][2]int{}
	err := walkGo(func(path string, text []byte) {
		if generated.Match(text[:min(len(text), 1000)]) || strings.Contains(path, "testdata/") {
			return
		}
		test := 0
		if countFile(path, text).tests > 0 {
			test = 1
		}
		room := found[folder(filepath.Dir(path))]
		for line := range bytes.Lines(text) {
			if utf8.RuneCount(bytes.TrimRight(line, "\r\n")) > mostColumns {
				room[test]++
			}
		}
		found[folder(filepath.Dir(path))] = room
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range slices.Sorted(maps.Keys(found)) {
		for test, n := range found[room] {
			kind := []string{"lines", "lines of tests"}[test]
			switch most := longLines[room][test]; {
			case n > most:
				t.Errorf("%s has %d %s of more than %d columns, and had %d: break those that you added", room, n, kind, mostColumns,
					most)
			case most-n > 10+n/10:
				t.Errorf("%s has %d %s of more than %d columns: lower its %d in longLines", room, n, kind, mostColumns, most)
			}
		}
	}
}

// walkGo calls f with each Go file of the module, by its path from the root with slashes.
func walkGo(f func(path string, text []byte)) error {
	return filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && rel != "." && rel != ".ci" {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(rel) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			f(rel, text)
		}
		return err
	})
}
