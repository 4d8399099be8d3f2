package cifar

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/memtest"
)

// records returns n records: record i has label i and pixel p of plane c = i+c+p.
func records(n int) []byte {
	var content []byte
	for i := range n {
		content = append(content, byte(i))
		for c := range Colours {
			for p := range Side * Side {
				content = append(content, byte(i+c+p))
			}
		}
	}
	return content
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data_batch_1.bin")
	if err := os.WriteFile(path, records(3), 0o600); err != nil {
		t.Fatal(err)
	}
	var s Set
	for range 2 {
		if err := s.Read(path); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.Labels) != 6 || s.Labels[5] != 2 || len(s.Pixels) != 6*Pixels {
		t.Fatalf("%d labels, %d pixels", len(s.Labels), len(s.Pixels))
	}
	for p := range Side * Side {
		for c := range Colours {
			if got := s.Pixels[4*Pixels+p*Colours+c]; got != byte(1+c+p) {
				t.Fatalf("pixel %d, colour %d is %d", p, c, got)
			}
		}
	}
}

// records100 returns n records of CIFAR-100: record i has the labels i and 3i,
// pixel p of plane c = i+c+p.
func records100(n int) []byte {
	var content []byte
	for i, r := range slices.Collect(slices.Chunk(records(n), 1+Pixels)) {
		content = append(content, byte(i), byte(3*i))
		content = append(content, r[1:]...)
	}
	return content
}

func TestReadTwoLabels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train.bin")
	if err := os.WriteFile(path, records100(20), 0o600); err != nil {
		t.Fatal(err)
	}
	var fine, coarse Set
	for range 2 {
		if err := errors.Join(fine.ReadFine(path), coarse.ReadCoarse(path)); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(fine.Pixels, coarse.Pixels) || len(fine.Pixels) != 40*Pixels ||
		len(fine.Labels) != 40 || len(coarse.Labels) != 40 {
		t.Fatalf("%d and %d labels, %d pixels", len(fine.Labels), len(coarse.Labels), len(fine.Pixels))
	}
	for i := range 20 {
		if fine.Labels[20+i] != int32(3*i) || coarse.Labels[i] != int32(i) ||
			fine.Pixels[i*Pixels+7*Colours+2] != byte(i+2+7) {
			t.Errorf("record %d: labels %d and %d, a pixel of %d", i, fine.Labels[20+i], coarse.Labels[i],
				fine.Pixels[i*Pixels+7*Colours+2])
		}
	}
}

func TestReadTwoLabelsErrors(t *testing.T) {
	coarse, fine := records100(2), records100(2)
	coarse[2+Pixels], fine[3+Pixels] = 20, 100
	for want, content := range map[string][]byte{
		"3073 bytes are not a multiple of the record size of 3074 bytes; is the file complete?": records(1),
		"record 2 has coarse label 20, must be below 20":                                        coarse,
		"record 2 has fine label 100, must be below 100":                                        fine,
	} {
		path := filepath.Join(t.TempDir(), "train.bin")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, read := range []func(string) error{new(Set).ReadFine, new(Set).ReadCoarse} {
			if err := read(path); err == nil || err.Error() != path+": "+want {
				t.Errorf("error %v, must be %s", err, want)
			}
		}
	}
}

// FuzzRead reads any bytes as either form: an error or whole records with labels
// in range, no panic.
func FuzzRead(f *testing.F) {
	f.Add(records(1))
	f.Add(records100(2))
	f.Add([]byte{0x1f, 0x8b, 8, 0, 1})
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "x.bin")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		var ten, coarse Set
		var errTen, errCoarse error
		memtest.Bounded(t, len(content), func() { errTen, errCoarse = ten.Read(path), coarse.ReadCoarse(path) })
		if errTen == nil && (len(ten.Pixels) != len(ten.Labels)*Pixels || slices.Max(ten.Labels) >= Classes) {
			t.Errorf("%d labels, %d pixels", len(ten.Labels), len(ten.Pixels))
		}
		if errCoarse == nil && (len(coarse.Pixels) != len(coarse.Labels)*Pixels || slices.Max(coarse.Labels) >= Coarse) {
			t.Errorf("%d labels, %d pixels", len(coarse.Labels), len(coarse.Pixels))
		}
	})
}

func TestReadErrors(t *testing.T) {
	wrong := records(2)
	wrong[1+Pixels] = 10
	for _, tt := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"empty", nil, "the file is empty"},
		{
			"cut off", records(2)[:5000],
			"5000 bytes are not a multiple of the record size of 3073 bytes; is the file complete?",
		},
		{"label", wrong, "record 2 has label 10, must be below 10"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.bin")
			if err := os.WriteFile(path, tt.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := new(Set).Read(path); err == nil || err.Error() != path+": "+tt.want {
				t.Errorf("error %v, must be %s", err, tt.want)
			}
		})
	}
	if err := new(Set).Read(filepath.Join(t.TempDir(), "none.bin")); err == nil ||
		!strings.Contains(err.Error(), "none.bin") {
		t.Errorf("a missing file: %v", err)
	}
}
