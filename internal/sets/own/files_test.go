package own_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sets/own"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// TestPairedNames: a word at an end of a name counts where a file beside it says train there.
func TestPairedNames(t *testing.T) {
	for _, tt := range []struct{ files, train, test []string }{
		{[]string{"imdbtest.csv", "imdbtrain.csv"}, []string{"imdbtrain.csv"}, []string{"imdbtest.csv"}},
		{[]string{"TestIMDB.csv", "TrainIMDB.csv"}, []string{"TrainIMDB.csv"}, []string{"TestIMDB.csv"}},
		{[]string{"testA1.csv", "trainA1.csv"}, []string{"trainA1.csv"}, []string{"testA1.csv"}},
		{[]string{"xtrain.csv", "xval.csv"}, []string{"xtrain.csv"}, []string{"xval.csv"}},
		{[]string{"KDDTest+.csv", "KDDTrain+.csv"}, []string{"KDDTrain+.csv"}, []string{"KDDTest+.csv"}},
		{[]string{"IMDBTest.csv", "IMDB_Train.csv"}, []string{"IMDB_Train.csv"}, []string{"IMDBTest.csv"}},
		{[]string{"Xte.csv", "Xtr.csv"}, []string{"Xtr.csv"}, []string{"Xte.csv"}},
		{[]string{"te.csv", "tr.csv"}, []string{"tr.csv"}, []string{"te.csv"}},
		{[]string{"heldout/p0.csv", "train/p1.csv"}, []string{"p1.csv"}, []string{"p0.csv"}},
		{[]string{"held-out.csv", "rows.csv"}, []string{"rows.csv"}, []string{"held-out.csv"}},
		{[]string{"en.csv", "te.csv", "tr.csv"}, []string{"en.csv", "te.csv", "tr.csv"}, nil},
		{[]string{"eval_center.csv", "test_hosp.csv"}, []string{"eval_center.csv", "test_hosp.csv"}, nil},
		{[]string{"train.csv", "validation_matched.csv"}, []string{"train.csv"}, []string{"validation_matched.csv"}},
		{[]string{"north.csv", "Test Data 1.csv"}, []string{"north.csv"}, []string{"Test Data 1.csv"}},
		{[]string{"contest.csv", "latest.csv"}, []string{"contest.csv", "latest.csv"}, nil},
	} {
		files := map[string]string{}
		for _, name := range tt.files {
			files[name] = "x"
		}
		dir := settest.Folder(t, files)
		train, test, _, err := own.Find(dir, ".csv")
		settest.Must(t, err)
		if !slices.Equal(list.Of(train, filepath.Base), tt.train) || !slices.Equal(list.Of(test, filepath.Base), tt.test) {
			t.Errorf("%v: train %v, test %v", tt.files, train, test)
		}
	}
}

func TestJoin(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		"a.csv": dir + "/a.csv", "a.csv, b/*.csv": dir + "/a.csv," + dir + "/b/*.csv", "a.csv,": dir + "/a.csv,",
		" ": dir + "/ ", "\n": dir + "/\n", "/x/../a.csv": "/a.csv", "": "",
	} {
		if got := filepath.ToSlash(own.Join(dir, path)); got != filepath.ToSlash(want) {
			t.Errorf("Join(dir, %q) = %q, want %q", path, got, want)
		}
	}
}
