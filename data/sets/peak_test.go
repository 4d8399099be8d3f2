package sets_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/test/realdata"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// TestPeak opens sets of the full size, each in a process of its own, and holds
// the most memory that it had to a bound. It takes minutes: FEDFAST_LONG=1.
func TestPeak(t *testing.T) {
	if os.Getenv("FEDFAST_LONG") == "" {
		t.Skip("takes minutes and makes large files; set FEDFAST_LONG=1")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the peak is read from /proc")
	}
	femnist := t.TempDir()
	fullFEMNIST(t, femnist)
	for _, tt := range []struct {
		name, path string
		most       int // in 1e6 bytes
		want       string
	}{
		{"leaf-femnist", femnist, 700, "3597 clients, 817851 samples"},
		{"leaf-shakespeare", realdata.Dir(t, "shakespeare", "moby", "raw_data.txt.gz"), 100, "1140 clients, 4224556 samples"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPeakOfOne$", "-test.v")
		cmd.Env = append(os.Environ(), "FEDFAST_PEAK_OF="+tt.name, "FEDFAST_PEAK_PATH="+tt.path)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), tt.want) {
			t.Fatalf("%s: %v: %s", tt.name, err, out)
		}
		_, after, _ := strings.Cut(string(out), "peak: ")
		kilobytes, err := strconv.Atoi(strings.Fields(after)[0])
		if err != nil {
			t.Fatal(err)
		}
		peak := kilobytes * 1024 / 1e6
		t.Logf("%s: a peak of %d MB", tt.name, peak)
		if peak > tt.most {
			t.Errorf("%s: a peak of %d MB, must be at most %d", tt.name, peak, tt.most)
		}
	}
}

// TestPeakOfOne is the process that TestPeak starts.
func TestPeakOfOne(t *testing.T) {
	name := os.Getenv("FEDFAST_PEAK_OF")
	if name == "" {
		t.Skip("TestPeak starts it")
	}
	fed := settest.Open(t, data.Config{Name: name, Path: os.Getenv("FEDFAST_PEAK_PATH"), MinSamples: 1})
	peak := memory.Peak()
	if peak == 0 {
		t.Fatal("the system does not tell the peak of memory")
	}
	fmt.Printf("peak: %d kB; %d clients, %d samples\n", peak>>10, fed.Files.Clients, fed.Files.Train+fed.Files.Test)
}

// fullFEMNIST writes files of LEAF's form and FEMNIST's size: 3,597 users, 817,851
// images of which a tenth are for testing, a hundred users a file.
func fullFEMNIST(t *testing.T, dir string) {
	t.Helper()
	const users, images, perFile = 3597, 817_851, 100
	var pictures []string // as JSON; ink on a third of the pixels
	s := draw.New(1)
	for range 50 {
		var b strings.Builder
		for p := range 784 {
			if p > 0 {
				b.WriteString(", ")
			}
			if s.IntN(3) == 0 {
				b.WriteString(strconv.FormatFloat(float64(s.IntN(256))/255, 'g', -1, 64))
			} else {
				b.WriteString("1.0")
			}
		}
		pictures = append(pictures, b.String())
	}
	for _, part := range []string{"train", "test"} {
		if err := os.MkdirAll(filepath.Join(dir, part), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	size := func(u int, part string) int {
		n := (u+1)*images/users - u*images/users
		if part == "train" {
			return n - n/10
		}
		return n / 10
	}
	for first := 0; first < users; first += perFile {
		for _, part := range []string{"train", "test"} {
			out, err := os.Create(filepath.Join(dir, part, fmt.Sprintf("all_data_%d.json.gz", first/perFile)))
			if err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriterSize(z, 1<<16)
			var names, counts []string
			for u := first; u < min(first+perFile, users); u++ {
				names = append(names, fmt.Sprintf("\"f%04d_%02d\"", u, u%50))
				counts = append(counts, strconv.Itoa(size(u, part)))
			}
			fmt.Fprintf(w, `{"users": [%s], "num_samples": [%s], "user_data": {`,
				strings.Join(names, ", "), strings.Join(counts, ", "))
			for i, name := range names {
				if i > 0 {
					fmt.Fprint(w, ", ")
				}
				fmt.Fprintf(w, `%s: {"x": [`, name)
				var labels []string
				for k := range size(first+i, part) {
					if k > 0 {
						fmt.Fprint(w, ", ")
					}
					fmt.Fprintf(w, "[%s]", pictures[(first+7*i+k)%len(pictures)])
					labels = append(labels, strconv.Itoa(k%62))
				}
				fmt.Fprintf(w, `], "y": [%s]}`, strings.Join(labels, ", "))
			}
			fmt.Fprint(w, "}}")
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			if err := out.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
