package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
)

// Formats are those in which a table for papers is written.
var Formats = []string{"csv", "md", "latex"}

// scored is the mean test error of a group under a target.
type scored struct {
	stats.Sample
	text string
	// best is the lowest one, tied one whose paired difference from it may be chance; neither is
	// told with fewer than two seeds in common.
	best, tied bool
}

// score has the errors of all groups under a target, nil without any.
func score(all []*group, target string) []scored {
	column := make([]scored, len(all))
	lowest := -1
	for i, g := range all {
		told := g.Studies[0].Told()
		column[i] = scored{Sample: g.seeds().Sample(view.TestOf(target)), text: g.mean(view.TestOf(target))}
		if column[i].text = strings.TrimSuffix(column[i].text, " %"); column[i].N == 0 {
			continue
		}
		if lowest < 0 || column[i].Mean != column[lowest].Mean && told.Maximize == (column[i].Mean > column[lowest].Mean) {
			lowest = i
		}
	}
	if lowest < 0 {
		return nil
	}
	others := slices.Concat(all[:lowest], all[lowest+1:])
	for _, d := range differences(append([]*group{all[lowest]}, others...), target) {
		if d.N < 2 {
			continue
		}
		column[lowest].best = true
		at := slices.IndexFunc(all, func(g *group) bool { return g.Name == d.name })
		column[at].tied = d.verdict == untold || d.verdict == "equal"
	}
	return column
}

// WritePaper writes the mean test errors of groups of studies, with intervals over seeds, as a
// table in one of Formats. In Markdown and LaTeX the lowest ones are bold, and those marked by a
// dagger from which they cannot be told.
func WritePaper(w io.Writer, studies []*Study, format string) error {
	all, err := groups(studies)
	if err != nil {
		return err
	}
	first := all[0].Studies[0].Told()
	for _, g := range all {
		if m := g.Studies[0].Told(); m != first {
			return fmt.Errorf("not compared: %s has the test %s, %s the test %s", all[0].Name, first.Metric, g.Name, m.Metric)
		}
	}
	unit, best := "", "lowest"
	if first.Percent {
		unit = ", %"
	}
	if first.Maximize {
		best = "highest"
	}
	var targets []string
	var columns [][]scored
	for _, target := range judged(all) {
		if column := score(all, target); column != nil {
			targets, columns = append(targets, target), append(columns, column)
		}
	}
	if len(columns) == 0 {
		return fmt.Errorf("%s: no test error yet", all[0].Name)
	}
	if format == "csv" {
		return writeErrors(w, all, targets, columns)
	}
	bold, tied, plus, write := "**%s**", "%s †", "±", markdownRow
	if format == "latex" {
		bold, tied, plus, write = `\textbf{%s}`, `%s$^\dagger$`, `$\pm$`, latexRow
	}
	head := append([]string{"study", "seeds"}, list.Of(targets, func(target string) string {
		return write("%s", target+" test "+first.Metric+unit)
	})...)
	rows := [][]string{}
	marked := false
	for i, g := range all {
		row := []string{write("%s", g.Name), strconv.Itoa(len(g.Studies))}
		for _, column := range columns {
			cell, form := column[i], "%s"
			switch {
			case cell.best:
				form, marked = bold, true
			case cell.tied:
				form = tied
			}
			row = append(row, fmt.Sprintf(form, strings.ReplaceAll(cell.text, "±", plus)))
		}
		rows = append(rows, row)
	}
	note := fmt.Sprintf("Mean over seeds ± half a %.0f %% confidence interval (Student's t).", 100*stats.Confidence)
	if marked {
		const text = " Bold: the %s. †: its difference from the %[1]s, paired by seed, is not significant (p >= %.2g, Holm)."
		note += fmt.Sprintf(text, best, 1-stats.Confidence)
	}
	if format == "latex" {
		return writeLaTeX(w, head, rows, note)
	}
	var b strings.Builder
	for i, row := range append([][]string{head}, rows...) {
		if i == 1 {
			b.WriteString("|---|" + strings.Repeat("---:|", len(row)-1) + "\n")
		}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	_, err = fmt.Fprintf(w, "%s\n%s\n", b.String(), note)
	return err
}

// markdownRow and latexRow write a text of others in a form.
func markdownRow(form, text string) string {
	return fmt.Sprintf(form, strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`).Replace(text))
}

func latexRow(form, text string) string {
	return fmt.Sprintf(form, strings.NewReplacer(
		`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "%", `\%`, "_", `\_`, "&", `\&`, "#", `\#`,
		"$", `\$`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "†", `$\dagger$`, "±", `$\pm$`, ">=", `$\geq$`, "|", `\textbar{}`).Replace(text))
}

// writeLaTeX writes a tabular that needs no package.
func writeLaTeX(w io.Writer, head []string, rows [][]string, note string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%% %s\n\\begin{tabular}{l%s}\n\\hline\n", note, strings.Repeat("r", len(head)-1))
	for i, row := range append([][]string{head}, rows...) {
		if i == 1 {
			b.WriteString("\\hline\n")
		}
		b.WriteString(strings.Join(row, " & ") + ` \\` + "\n")
	}
	fmt.Fprintf(&b, "\\hline\n\\end{tabular}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeErrors writes means and half the widths of intervals as shares or in the target's unit.
func writeErrors(w io.Writer, all []*group, targets []string, columns [][]scored) error {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	c := csv.NewWriter(w)
	head := []string{"study", "seeds"}
	for _, target := range targets {
		name := target + "_test_" + strings.ReplaceAll(all[0].Studies[0].Told().Metric, " ", "_")
		head = append(head, name, name+"_half", name+"_best", name+"_tied")
	}
	rows := [][]string{head}
	for i, g := range all {
		row := []string{g.Name, strconv.Itoa(len(g.Studies))}
		for _, column := range columns {
			cell := column[i]
			row = append(row, number(cell.Mean), number(cell.Half), strconv.FormatBool(cell.best), strconv.FormatBool(cell.tied))
		}
		rows = append(rows, row)
	}
	return c.WriteAll(rows)
}
