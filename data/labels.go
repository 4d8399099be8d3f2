package data

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// LabelNotes says, in plain lines, what is odd about the classes of examples that users
// bring: a class that never occurs, though the model has an output for it, or only one
// class, which any model that always says so gets right.
func LabelNotes(labels []int32, classes int) []string {
	seen := make([]bool, classes)
	for _, l := range labels {
		seen[l] = true
	}
	absent, there := absentClasses(seen)
	switch {
	case there == 1:
		only := slices.Index(seen, true)
		return []string{fmt.Sprintf("all labels are class %d: there is nothing to learn, and a model that always says so has no error", only)}
	case absent != "":
		return []string{fmt.Sprintf("%d of %d classes occur, those from 0 to the largest label: %s never do, but the model has outputs for them", there, classes, absent)}
	}
	return nil
}

// TagNotes says likewise what is odd about examples with several of n labels each, those
// of example i being labels[starts[i]:starts[i+1]].
func TagNotes(starts, labels []int32, n int) []string {
	var notes []string
	one, all := len(starts) > 1, len(starts) > 1
	for i := range len(starts) - 1 {
		has := int(starts[i+1] - starts[i])
		one, all = one && has == 1, all && has == n
	}
	seen := make([]bool, n)
	for _, l := range labels {
		seen[l] = true
	}
	absent, there := absentClasses(seen)
	switch {
	case there == 0:
		return []string{"no sample has any label: there is nothing to learn, and no model misses one"}
	case all:
		return []string{"each sample has all labels: there is nothing to learn, and no model misses one"}
	case one:
		notes = append(notes, "each sample has exactly one of the labels; if they are classes, save y.argmax(axis=1) instead, and the error is that of classification")
	}
	if absent != "" {
		notes = append(notes, fmt.Sprintf("%d of %d labels occur: %s never do, but the model has outputs for them", there, n, absent))
	}
	return notes
}

// absentClasses lists the classes that were not seen as runs, such as "1 to 6, 9", and
// counts the others.
func absentClasses(seen []bool) (absent string, there int) {
	const most = 5 // runs that are listed
	var runs []string
	for c := 0; c < len(seen); c++ {
		if seen[c] {
			there++
			continue
		}
		last := c
		for last+1 < len(seen) && !seen[last+1] {
			last++
		}
		if len(runs) > most {
			c = last
			continue
		}
		run := strconv.Itoa(c)
		if last > c {
			run = fmt.Sprintf("%d to %d", c, last)
		}
		runs = append(runs, run)
		c = last
	}
	if len(runs) > most {
		runs[most] = "..."
	}
	return strings.Join(runs, ", "), there
}
