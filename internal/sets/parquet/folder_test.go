package parquet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// TestFolders opens pictures in files of their own.
func TestFolders(t *testing.T) {
	classes := func(prefix string, n int) string {
		var all []string
		for i := range n {
			for _, class := range []string{"cat", "dog"} {
				all = append(all, fmt.Sprintf("%s%s/%d.png", prefix, class, i))
			}
		}
		return strings.Join(all, " ")
	}
	clients := classes("ann/", 10) + " " + classes("bob/", 10)
	dealt := func(c *data.Config) { c.Partition, c.Clients = "iid", 2 }
	for _, tt := range []struct {
		name  string
		paths string
		set   func(*data.Config)
		want  string // what the summary, the notes or the error have, apart by |
	}{
		{"classes", classes("", 20), dealt, "[0 1] 32+4 of 4|the 2 names of the labels in alphabetical order"},
		{"classes without a partition", classes("", 20), nil, "has no folders of clients"},
		{"clients", clients, nil, "[ann bob] 32+4 of 4"},
		{"clients, and central tests", clients + " " + classes("test/", 3), nil, "[ann bob] 36+4 of 6"},
		{"tests of clients", classes("train/ann/", 10) + " " + classes("test/ann/", 5), nil, "[ann] 18+2 of 10"},
		{"parts below clients", classes("ann/train/", 10) + " " + classes("ann/test/", 5), nil, "[ann] 18+2 of 10"},
		{
			"parts of one name", classes("seg_train/Train_Set/", 10) + " " + classes("seg_test/testing/", 5), dealt,
			"[0 1] 18+2 of 10|testing or validation, by their names: Train_Set, seg_test, seg_train, testing",
		},
		{
			"clients whose names have the words", classes("train/test-hospital/", 10) + " " + classes("train/contest/", 10) +
				" " + classes("train/test2/", 10) + " " + classes("test/test2/", 4), nil,
			"[contest test-hospital test2] 54+6 of 8|validation, by their names: test, train\n|" +
				"folders of clients or classes, though their names have words such as test: test-hospital, test2; one of",
		},
		{
			"classes whose names have the words", classes("ann/", 10) + " ann/val-x/1.png ann/val-x/2.png", nil,
			"the 3 names of the labels|classes, though",
		},
		{"validation", classes("train/", 10) + " " + classes("val/", 5), dealt, "[0 1] 18+2 of 10"},
		{"validation beside tests", classes("train/a/", 10) + " test/a/cat/1.png valid/a/dog/7.png", nil, "left out: 7.png"},
		{"other files", clients + " ann/cat/notes.txt ann/cat/._1.png .cache/a/b/c.png", nil, "left out: notes.txt\n"},
		{"no class", clients + " 1.png", nil, "1.png: lies in no folder of a class"},
		{"parts without a class", "train/1.png test/2.png", nil, "lies in no folder of a class"},
		{"too many folders", "a/b/c/1.png", nil, "or in too many"},
		{"some without a client", clients + " cat/1.png", nil, "one lies in the folder of a client, the other does not"},
		{"only tests", "test/cat/1.png", nil, "no pictures (.png, .jpg, .jpeg) for training in it"},
		{"none", "a/1.gif", nil, "no pictures (.png, .jpg, .jpeg) for training in it"},
		{"another size", clients + " ann/cat/small.png", nil, "small.png: it has 3 x 3 pixels, the first one 4 x 4"},
		{"damaged", clients + " ann/cat/torn.jpg", nil, "torn.jpg: it is no PNG or JPEG, or is damaged"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{}
			for i, path := range strings.Fields(tt.paths) {
				switch {
				case strings.HasSuffix(path, "small.png"):
					files[path] = string(grey(t, 3, 3, 9))
				case strings.HasSuffix(path, ".png"):
					files[path] = string(grey(t, 4, 4, byte(i)))
				default:
					files[path] = "no picture"
				}
			}
			cfg := data.Config{Name: "image-folder", Path: settest.Folder(t, files), MinSamples: 1}
			if tt.set != nil {
				tt.set(&cfg)
			}
			fed, err := data.Open(t.Context(), cfg)
			text := fmt.Sprint(err)
			if err == nil {
				var names []string
				for _, c := range fed.Clients {
					names = append(names, c.ID)
				}
				train, val, test := settest.Totals(fed.Clients)
				text = fmt.Sprintf("%v %d+%d of %d\n%s", names, train, val, test+fed.Test.Len(), strings.Join(fed.Notes, "\n"))
			}
			for want := range strings.SplitSeq(tt.want, "|") {
				if !strings.Contains(text, want) || strings.Contains(fmt.Sprint(err), "\n") {
					t.Errorf("%s\nhas no %s", text, want)
				}
			}
		})
	}
}
