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
		{[]string{"contest.csv", "latest.csv"}, []string{"contest.csv", "latest.csv"}, nil},
	} {
		dir := settest.Folder(t, map[string]string{tt.files[0]: "x", tt.files[1]: "y"})
		train, test, _, err := own.Find(dir, ".csv")
		settest.Must(t, err)
		if !slices.Equal(list.Of(train, filepath.Base), tt.train) || !slices.Equal(list.Of(test, filepath.Base), tt.test) {
			t.Errorf("%v: train %v, test %v", tt.files, train, test)
		}
	}
}
