package repro

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// results is the folder of what was measured.
var results = filepath.Join("..", "..", "bench", "results")

// textPages are the pages whose sentences are compared with the tables: advice, and one page
// a paper.
func textPages(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(results, "papers", "*.md"))
	if err != nil || len(all) < 7 {
		t.Fatalf("pages of papers: %v, %v", all, err)
	}
	for i, page := range all {
		all[i] = "papers/" + filepath.Base(page)
	}
	return append(all, "advice.md")
}

var (
	tableLink  = regexp.MustCompile(`\]\((?:\.\./)?((?:papers/)?[a-z0-9-]+\.md)(?:#[a-z-]+)?\)`)
	tableName  = regexp.MustCompile(`(?:bench/results/(\w+) )?--name\s+([a-z0-9/-]+)`)
	tableRow   = regexp.MustCompile(`(?m)^\|.*$`)
	textNumber = regexp.MustCompile(`(\d[\d,]*(?:\.\d+)?)(?:\s\+-\s(\d+(?:\.\d+)?))?`)
	cellNumber = regexp.MustCompile(`(\d+(?:\.\d+)?)(?: (?:\+-|±) (\d+(?:\.\d+)?))?`)
	cellRange  = regexp.MustCompile(`(-?\d+\.\d+) \.\. (-?\d+\.\d+)`)
	noText     = regexp.MustCompile("(?m)^    .*$|`[^`]*`|\\]\\([^)]*\\)|\\d{4}-\\d\\d-\\d\\d")
)

// interval is a number with half the width of its interval.
type interval struct{ mean, half float64 }

// tableNumbers are the numbers of pages of tables, and those with an interval.
type tableNumbers struct {
	single []float64
	pairs  []interval
}

func (n *tableNumbers) add(text string) {
	value := func(s string) float64 { x, _ := strconv.ParseFloat(s, 64); return x }
	for line := range strings.SplitSeq(text, "\n") {
		intervals := cellRange.FindAllStringSubmatch(line, -1) // such as "72.1 .. 74.5"
		for _, m := range cellNumber.FindAllStringSubmatch(line, -1) {
			n.single = append(n.single, value(m[1]))
			if m[2] != "" {
				n.single = append(n.single, value(m[2]))
			}
			deviation := slices.ContainsFunc(intervals, func(i []string) bool { // as it is beside the mean's interval
				middle := math.Abs(value(i[1])+value(i[2])) / 2
				return math.Abs(middle-value(m[1])) <= 0.005*(1+middle)
			})
			if m[2] != "" && !deviation {
				n.pairs = append(n.pairs, interval{value(m[1]), value(m[2])})
			}
		}
		for _, m := range intervals {
			lo, hi := value(m[1]), value(m[2])
			n.pairs = append(n.pairs, interval{math.Abs(lo+hi) / 2, (hi - lo) / 2})
		}
	}
}

// rounds says whether a text's number is another one rounded, whatever its sign: the table's
// own last digit may be rounded, too.
func rounds(text string, x float64) bool {
	y, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	_, decimals, _ := strings.Cut(text, ".")
	return err == nil && math.Abs(y-x) <= 0.5*math.Pow10(-len(decimals))+0.00501
}

// has says whether a number of a text, with half the width of an interval or without, stands
// in the tables.
func (n *tableNumbers) has(mean, half string) bool {
	if half == "" {
		for _, x := range n.single {
			if rounds(mean, x) {
				return true
			}
		}
		return false
	}
	for _, p := range n.pairs {
		if rounds(mean, p.mean) && rounds(half, p.half) {
			return true
		}
	}
	return false
}

// paragraphs are the sections of a page, and of advice.md its points, each with the pages of
// tables that it links to and the commands of tables that it has; a subsection has those of
// its section, too.
func paragraphs(page, text string) (all []string, links [][]string) {
	var current []string
	var section []string
	flush := func() {
		if len(current) == 0 {
			return
		}
		p := strings.Join(current, "\n")
		var own []string
		for _, m := range tableLink.FindAllStringSubmatch(p, -1) {
			own = append(own, m[1])
		}
		for _, m := range tableName.FindAllStringSubmatch(p, -1) {
			own = append(own, cmp.Or(m[1], "repro")+" --name "+m[2])
		}
		if strings.HasPrefix(p, "### ") {
			own = append(own, section...)
		} else {
			section = own
		}
		all, links = append(all, p), append(links, own)
		current = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "#") || page == "advice.md" && strings.HasPrefix(line, "- ") {
			flush()
		}
		current = append(current, line)
	}
	flush()
	return all, links
}

// folded is a text with one space for each run of white space.
func folded(text string) string { return strings.Join(strings.Fields(text), " ") }

// tableOf is a table of recorded results: a page, or what `repro merge` prints for a folder
// of metrics and a name.
func tableOf(t *testing.T, table string) string {
	t.Helper()
	folder, name, made := strings.Cut(table, " --name ")
	if !made {
		content, err := os.ReadFile(filepath.Join(results, table))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(table, "papers") { // of a text only its tables
			return strings.Join(tableRow.FindAllString(string(content), -1), "\n")
		}
		return string(content)
	}
	cells, err := Select(name)
	if err != nil {
		t.Fatal(err)
	}
	found := recorded(t)
	if folder != "repro" {
		if found, err = Find(filepath.Join(results, folder)); err != nil {
			t.Fatal(err)
		}
	}
	report, err := NewReport(cells, found)
	if err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	var text strings.Builder
	report.WriteMarkdown(&text)
	return text.String()
}

// TestTextsSayWhatTablesSay looks, for every number with an interval and every number with
// decimals in a sentence of the pages of papers and of advice.md, for the same in the tables that the
// section or the point links to, or that `repro merge` makes of the metrics by the --name
// that it has. What a sentence derives from the metrics otherwise is in TestSentences; what
// neither can hold is in byHand, with the reason.
func TestTextsSayWhatTablesSay(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the last digit of an interval may be another one where multiply-adds are fused")
	}
	tables, said := map[string]*tableNumbers{}, sentences(t)
	for _, page := range textPages(t) {
		text, err := os.ReadFile(filepath.Join(results, page))
		if err != nil {
			t.Fatal(err)
		}
		left := folded(string(text))
		for _, h := range byHand {
			if h.page == page && !strings.Contains(left, h.text) {
				t.Errorf("%s no longer says %q: take it out of byHand", page, h.text)
			}
		}
		all, links := paragraphs(page, string(text))
		checked := 0
		for i, p := range all {
			plain := folded(noText.ReplaceAllString(p, " "))
			for _, s := range said {
				if s.page == page {
					plain = strings.ReplaceAll(plain, folded(noText.ReplaceAllString(s.text, " ")), "")
				}
			}
			for _, h := range byHand {
				if h.page == page {
					plain = strings.ReplaceAll(plain, folded(noText.ReplaceAllString(h.text, " ")), "")
				}
			}
			var pool tableNumbers
			for _, link := range links[i] {
				if tables[link] == nil {
					tables[link] = &tableNumbers{}
					tables[link].add(tableOf(t, link))
				}
				pool.single, pool.pairs = append(pool.single, tables[link].single...), append(pool.pairs, tables[link].pairs...)
			}
			for _, at := range textNumber.FindAllStringSubmatchIndex(plain, -1) {
				mean, half := plain[at[2]:at[3]], ""
				if at[4] >= 0 {
					half = plain[at[4]:at[5]]
				}
				if half == "" && !strings.Contains(mean, ".") {
					continue
				}
				checked++
				if !pool.has(mean, half) {
					t.Errorf("%s: %q is in none of %v: ...%s...", page, plain[at[0]:at[1]], links[i], plain[max(0, at[0]-70):min(len(plain), at[1]+40)])
				}
			}
		}
		if checked < 4 {
			t.Errorf("only %d numbers of %s were compared", checked, page)
		}
	}
}

// sentence is a part of a text whose numbers the metrics give.
type sentence struct{ page, text string }

// recordedMetrics are read once: there are hundreds of files.
var recordedMetrics []*Metrics

// recorded returns the metrics of bench/results.
func recorded(t *testing.T) []*Metrics {
	t.Helper()
	if recordedMetrics == nil {
		found, err := Find(filepath.Join(results, "repro"))
		if err != nil {
			t.Fatal(err)
		}
		recordedMetrics = found
	}
	return recordedMetrics
}

// TestSentences makes sentences of the pages again from the metrics.
func TestSentences(t *testing.T) {
	pages := map[string]string{}
	for _, page := range textPages(t) {
		text, err := os.ReadFile(filepath.Join(results, page))
		if err != nil {
			t.Fatal(err)
		}
		pages[page] = folded(string(text))
	}
	for _, s := range sentences(t) {
		if !strings.Contains(pages[s.page], folded(s.text)) {
			t.Errorf("%s does not say %q, as the metrics do", s.page, s.text)
		}
	}
}

// one writes a number with its interval to one decimal, as the pages do.
func one(mean, half float64) string { return fmt.Sprintf("%.1f +- %.1f", mean, half) }
