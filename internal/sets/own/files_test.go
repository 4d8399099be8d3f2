package own_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		{[]string{"Testdaten.csv", "Trainingsdaten.csv"}, []string{"Trainingsdaten.csv"}, []string{"Testdaten.csv"}},
		{[]string{"训练集.csv", "测试集.csv"}, []string{"训练集.csv"}, []string{"测试集.csv"}},
		{[]string{"train/._a.csv", "train/a.csv"}, []string{"a.csv"}, nil},
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

// TestFolders: what cannot be read is told with what is there.
func TestFolders(t *testing.T) {
	for name, want := range map[string]string{
		"h1/train.csv": "but in its folders: data.path = ",
		"a.csv.bz2":    "nor in data/, but a.csv.bz2",
	} {
		if _, _, _, err := own.Find(settest.Folder(t, map[string]string{name: "x"}), ".csv"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	dir := settest.Folder(t, map[string]string{"a.csv": "x"})
	settest.Must(t, os.Symlink(filepath.Join(dir, "nowhere.csv"), filepath.Join(dir, "b.csv")))
	if train, _, _, err := own.Find(dir, ".csv"); err != nil || len(train) != 2 {
		t.Errorf("a link that leads nowhere: %v, %v", train, err)
	}
}

// TestClient: a client's files are named after it and the part that they hold.
func TestClient(t *testing.T) {
	for path, want := range map[string]string{
		"x/h1.csv": "h1", "x/h1_trainset.csv.gz": "h1", "x/test-h1.csv": "h1", "x/h1 (test).csv": "h1",
		"h1/train.csv": "h1", "h1/Test.csv": "h1", "x/latest.csv": "latest", "x/contest_2.csv": "contest_2",
	} {
		if got := own.Client(path); got != want {
			t.Errorf("Client(%q) = %q, want %q", path, got, want)
		}
	}
}

// TestSplits: columns that say which rows are for testing.
func TestSplits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		want   bool
	}{
		{"fold", []string{"train", "Test"}, true},
		{"fold", []string{"train"}, false},
		{"fold", []string{"train", "bus"}, false},
		{"is_test", []string{"0", "1"}, true},
		{"IsTrain", nil, true},
		{"split", nil, true},
		{"test", []string{"0", "1"}, false},
	} {
		if got := own.Splits(tt.name, tt.values); got != tt.want {
			t.Errorf("%s %v: %v", tt.name, tt.values, got)
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
