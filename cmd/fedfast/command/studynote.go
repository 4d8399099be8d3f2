package command

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// tagForm is what tags are like.
var tagForm = regexp.MustCompile(`^[\pL\pN_.-]{1,40}$`)

// mostNote is how many bytes a note has at most, mostTags how many tags a study.
const mostNote, mostTags = 2 << 10, 20

func newNote(a *app) *cobra.Command {
	var tags, gone []string
	cmd := &cobra.Command{
		Use:               "note DIR [TEXT]",
		ValidArgsFunction: completeStudy,
		Short:             "Write a note or tags beside a study, or print them",
		Args:              cobra.RangeArgs(1, 2),
		RunE: a.work(func(_ *cobra.Command, args []string) error {
			dir := args[0]
			if !workdir.Holds(dir) && !workdir.HoldsSeeds(dir) {
				return usageError{fmt.Errorf("%s: is not the directory of a study", dir)}
			}
			n, err := view.ReadNotes(dir)
			if err != nil {
				return err
			}
			if len(args) > 1 {
				n.Note = args[1]
			}
			for _, tag := range tags {
				if !tagForm.MatchString(tag) {
					return usageError{fmt.Errorf("--tag %s: must have 1 to 40 letters, digits, dots, - or _", oneline.Name(tag))}
				}
			}
			n.Add(tags...)
			n.Tags = slices.DeleteFunc(n.Tags, func(tag string) bool { return slices.Contains(gone, tag) })
			switch {
			case len(n.Note) > mostNote || !utf8.ValidString(n.Note):
				return usageError{fmt.Errorf("%s: a note must be UTF-8 of at most %s", dir, memory.Size(mostNote))}
			case len(n.Tags) > mostTags:
				return usageError{fmt.Errorf("%s: a study has at most %d tags", dir, mostTags)}
			}
			if len(args) > 1 || len(tags)+len(gone) > 0 {
				if err := n.Write(dir); err != nil {
					return err
				}
			}
			if a.json {
				return a.printJSON(n)
			}
			_, err = fmt.Fprintln(a.out, cmp.Or(n.Text(), "no note and no tags"))
			return err
		}),
	}
	cmd.Flags().StringSliceVar(&tags, "tag", nil, "add the tag `NAME` (repeatable)")
	cmd.Flags().StringSliceVar(&gone, "untag", nil, "remove the tag `NAME` (repeatable)")
	return cmd
}
