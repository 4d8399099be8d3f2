package leaf

import (
	"testing"

	"github.com/fedfast/fedfast/internal/test/realdata"
)

func readReal(t testing.TB, dir string, form Form) (train, test []User) {
	t.Helper()
	files, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if train, err = Read(t.Context(), files.Train, form); err != nil {
		t.Fatal(err)
	}
	if test, err = Read(t.Context(), files.Test, form); err != nil {
		t.Fatal(err)
	}
	return train, test
}

func samples(users []User) (n int) {
	for i := range users {
		n += users[i].Len()
	}
	return n
}

func TestFEMNIST(t *testing.T) {
	train, test := readReal(t, realdata.Dir(t, "femnist"), Form{Pixels: 784, Classes: 62})
	if len(train) != 105 || samples(train) != 14_708 || len(test) != 184 || samples(test) != 4_088 {
		t.Errorf("train: %d users, %d samples; test: %d, %d; must be 105, 14708; 184, 4088", len(train),
			samples(train), len(test), samples(test))
	}
	for _, u := range append(train, test...) {
		if u.Values != nil || len(u.Pixels) != 784*u.Len() {
			t.Fatalf("user %s: %d bytes and %d floats of %d samples; all pixels are parts of 255", u.ID,
				len(u.Pixels), len(u.Values), u.Len())
		}
	}
}

func TestShakespeare(t *testing.T) {
	train, test := readReal(t, realdata.Dir(t, "shakespeare", "leaf_small"), Form{SeqLen: 80})
	// num_samples of the test file sums to 20,001: LEAF counts before it drops the
	// 79 windows of each of the 44 users that overlap the training text.
	if len(train) != 44 || samples(train) != 179_780 || len(test) != 44 || samples(test) != 20_001-44*79 {
		t.Errorf("train: %d users, %d samples; test: %d, %d; must be 44, 179780; 44, 16525", len(train),
			samples(train), len(test), samples(test))
	}
	for _, u := range append(train, test...) {
		// LEAF cuts a role's windows in order, but for the one it took a sample of.
		if len(u.Text) != u.Len()+80 && u.ID != "THE_THIRD_PART_OF_KING_HENRY_THE_SIXTH_WARWICK" {
			t.Errorf("user %s: %d characters hold %d samples that continue one another", u.ID, len(u.Text), u.Len())
		}
	}
}
