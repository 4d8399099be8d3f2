package cifar

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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

func TestReadErrors(t *testing.T) {
	wrong := records(2)
	wrong[record] = 10
	for _, tt := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"empty", nil, "0 bytes are not a whole number of records of 3073 bytes; is the file complete?"},
		{"cut off", records(2)[:5000], "5000 bytes are not a whole number of records of 3073 bytes; is the file complete?"},
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
	if err := new(Set).Read(filepath.Join(t.TempDir(), "none.bin")); err == nil || !strings.Contains(err.Error(), "none.bin") {
		t.Errorf("a missing file: %v", err)
	}
}
