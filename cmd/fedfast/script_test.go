package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/rogpeppe/go-internal/testscript"

	_ "github.com/fedfast/fedfast/internal/test/glyphs"
	"github.com/fedfast/fedfast/internal/test/npztest"
	"github.com/fedfast/fedfast/kernels"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fedfast": main})
}

// TestScripts runs the command lines of testdata/script.
func TestScripts(t *testing.T) {
	example, err := filepath.Abs(filepath.Join(root, "cmd", "fedfast", "internal", "recorded", "example", "example.toml"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"fails":    fails,
			"gzipped":  gzipped,
			"femnist":  femnist,
			"ownfile":  ownFile,
			"pictures": pictures,
			"jsonhas":  jsonHas,
			"jsonlist": jsonList,
			"jsonsame": jsonSame,
			"waitfor":  waitFor,

			"certificate": certificate,

			"flip":      flip,
			"handed":    handed,
			"repacked":  repacked,
			"sametext":  sameText,
			"stopat":    stopAt,
			"waitlines": waitLines,
			"wheel":     wheel,

			"waitmetrics": waitMetrics,

			"earlykills": earlyKills,
			"limited":    limited,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "bf16" { // the level has products in assembly
				return kernels.Current() != kernels.Generic, nil
			}
			if cond == "torch" || cond == "grpc" { // the Python that the program finds has it
				return slices.ContainsFunc([]string{"python3", "/usr/bin/python3"}, func(python string) bool {
					return hasModules(python, cond)
				}), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("FEDFAST_CPU", os.Getenv("FEDFAST_CPU"))
			env.Setenv("EXAMPLE", example)
			env.Setenv("LONG", strings.Repeat("long\x1b[2J", 5000))
			mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte("]\x00\x00\n"))
			}))
			env.Defer(mirror.Close)
			env.Setenv("MIRROR", mirror.URL)
			return nil
		},
	})
}

// shown matches a first line that says what is trained.
var shown = regexp.MustCompile(`^(glyphs: |[a-z0-9-]+ tuned by |[a-z0-9-]+: \d+ rounds? of |estimate: |budget\.rounds = |space = ).*\n`)

// fails CODE ARGS: fedfast ARGS exits with CODE, prints nothing on stdout and
// one line on stderr, but for the lines that say what is trained.
func fails(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fails CODE ARGS")
	}
	err := ts.Exec("fedfast", args[1:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
		ts.Fatalf("fedfast %s: %v, want exit code %s", strings.Join(args[1:], " "), err, args[0])
	}
	stderr := ts.ReadFile("stderr")
	for shown.MatchString(stderr) { // a slow machine shows what is trained before it fails
		_, stderr, _ = strings.Cut(stderr, "\n")
	}
	if !strings.HasPrefix(stderr, "fedfast: ") || strings.Count(stderr, "\n") != 1 {
		ts.Fatalf("stderr is no single line of fedfast")
	}
	if ts.ReadFile("stdout") != "" {
		ts.Fatalf("something is on stdout")
	}
}

// gzipped FROM TO [CUT]: compresses a file and leaves out the last CUT bytes.
func gzipped(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: gzipped FROM TO [CUT]")
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(w.Close())
	keep := b.Len()
	if len(args) > 2 {
		cut, err := strconv.Atoi(args[2])
		ts.Check(err)
		keep -= cut
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b.Bytes()[:keep], 0o600))
}

// wheel FILE FROM=NAME...: packs files and folders under the names that they have in a wheel.
func wheel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: wheel FILE FROM=NAME...")
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, arg := range args[1:] {
		from, to, _ := strings.Cut(arg, "=")
		files, err := filepath.Glob(filepath.Join(ts.MkAbs(from), "*.py"))
		ts.Check(err)
		name := func(file string) string { return path.Join(to, filepath.Base(file)) }
		if len(files) == 0 {
			files, name = []string{ts.MkAbs(from)}, func(string) string { return to }
		}
		for _, file := range files {
			member, err := w.Create(name(file))
			ts.Check(err)
			_, err = member.Write([]byte(ts.ReadFile(file)))
			ts.Check(err)
		}
	}
	ts.Check(w.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o600))
}

// repacked FROM TO PATTERN TEXT: puts a text in place of what a pattern matches in the lines of a
// packed study, and seals it anew.
func repacked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: repacked FROM TO PATTERN TEXT")
	}
	zip, err := gzip.NewReader(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	text, err := io.ReadAll(zip)
	ts.Check(err)
	text = text[:bytes.LastIndex(text, []byte(`{"sha256":`))]
	text = regexp.MustCompile(`(?m)`+args[2]).ReplaceAll(text, []byte(args[3]))
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err = fmt.Fprintf(w, "%s{\"sha256\":\"%x\"}\n", text, sha256.Sum256(text))
	ts.Check(err)
	ts.Check(w.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b.Bytes(), 0o600))
}

// femnist FILE USER IMAGES LABELS: writes a LEAF JSON file with one user, who may
// have more images than labels.
func femnist(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: femnist FILE USER IMAGES LABELS")
	}
	images, err := strconv.Atoi(args[2])
	ts.Check(err)
	labels, err := strconv.Atoi(args[3])
	ts.Check(err)
	x := make([][]float64, images)
	for i := range x {
		x[i] = make([]float64, 28*28)
		x[i][i] = 0.5
	}
	user := map[string]any{"x": x, "y": make([]int, labels)}
	text, err := json.Marshal(map[string]any{
		"users": args[1:2], "num_samples": []int{images},
		"user_data": map[string]any{args[1]: user},
	})
	ts.Check(err)
	ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(args[0])), 0o755))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o600))
}

// pictures FILE [KIND]: writes a file in Parquet's format of 60 pictures of two classes, of three
// users, as Hugging Face saves one; of the kind paths or base64, texts in place of pictures; of the
// kind folder, a folder with a folder of JPEGs for each class, every third of which is to be turned; of the kind black,
// one of black PNGs of 16 bits, which are to be turned. Of the kind unread the file has paths of pictures alone.
func pictures(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: pictures FILE [KIND]")
	}
	type picture struct {
		Bytes []byte `parquet:"bytes,optional"`
		Path  string `parquet:"path"`
	}
	type row struct {
		Image picture `parquet:"image"`
		Label int64   `parquet:"label"`
		User  string  `parquet:"user_id"`
	}
	type text struct {
		Image string `parquet:"image"`
		Label int64  `parquet:"label"`
		User  string `parquet:"user_id"`
	}
	var rows []row
	var texts []text
	kind := append(args, "")[1]
	for i := range 60 {
		m := image.NewGray(image.Rect(0, 0, 6, 6))
		for k := range m.Pix {
			m.Pix[k] = byte(200*(i*i%3) + k)
		}
		var out bytes.Buffer
		label, user := int64(i*i%3), "user "+strconv.Itoa(i/20)
		switch kind {
		case "folder":
			ts.Check(jpeg.Encode(&out, m, nil))
			jpg := out.String()
			if i%3 == 0 {
				const turned = "II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"
				jpg = jpg[:2] + "\xff\xe1\x00\x22Exif\x00\x00" + turned + jpg[2:]
			}
			path := filepath.Join(ts.MkAbs(args[0]), strconv.FormatInt(label, 10), strconv.Itoa(i)+".jpg")
			ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
			ts.Check(os.WriteFile(path, []byte(jpg), 0o600))
			continue
		case "black": // of 16 bits, with an orientation
			ts.Check(png.Encode(&out, image.NewGray16(m.Rect)))
			chunk := "eXIfII*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"
			sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(chunk)))
			const head = 33 // of the file, with its first chunk
			turned := out.String()[:head] + "\x00\x00\x00\x1a" + chunk + string(sum) + out.String()[head:]
			path := filepath.Join(ts.MkAbs(args[0]), strconv.FormatInt(label, 10), strconv.Itoa(i)+".png")
			ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
			ts.Check(os.WriteFile(path, []byte(turned), 0o600))
			continue
		case "unread":
			rows = append(rows, row{picture{Path: "scans/1.png"}, label, user})
			continue
		case "paths":
			texts = append(texts, text{"scans/" + user + ".png", label, user})
			continue
		}
		ts.Check(png.Encode(&out, m))
		rows = append(rows, row{picture{out.Bytes(), "none.png"}, label, user})
		texts = append(texts, text{base64.StdEncoding.EncodeToString(out.Bytes()), label, user})
	}
	switch kind {
	case "", "unread":
		ts.Check(parquet.WriteFile(ts.MkAbs(args[0]), rows))
	case "paths", "base64":
		ts.Check(parquet.WriteFile(ts.MkAbs(args[0]), texts))
	}
}

// ownFile FILE KIND: writes arrays of images, vectors, tokens or text: 20 samples
// of each of three clients. Normalized are the images as floats of mean 0.5 and deviation
// 0.25. The class of a sample is told by its first pixel,
// number or token; text has none. To predict of numbers is a float, of flat the same one
// for all, of labels which of three labels a vector has, of same class 1. Mislabeled are
// vectors with another label of one sample. Central are vectors with a test set of no client, other ones
// of classes that no training sample has, dark ones images that are not scaled as the others. Ids have a
// class of 64 bits, near are numbers that 32-bit floats lose, steps have a label for each token, spaced and
// turned headers of other programs.
func ownFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ownfile FILE KIND")
	}
	const n, width = 60, 36
	y, client := npztest.Array{Name: "y", Shape: []int{n}}, npztest.Array{Name: "client", Shape: []int{n}}
	var classes []int64
	var clients []string
	var pixels []uint8
	var numbers []float32
	var ids []int64
	for i := range n {
		class := i * i % 3 // 0 or 1
		classes, clients = append(classes, int64(class)), append(clients, "user "+strconv.Itoa(i%3))
		for k := range width {
			pixels, numbers, ids = append(pixels, uint8(200*class+k)), append(numbers, float32(class)-0.5),
				append(ids, int64(1+(class+k)%4))
		}
	}
	y.Values, client.Values = classes, clients
	x := npztest.Array{Name: "x", Shape: []int{n, width}, Values: ids}
	switch args[1] {
	case "images", "dark":
		x.Shape, x.Values = []int{n, 6, 6}, pixels
	case "normalized":
		floats := make([]float32, len(pixels))
		for i, k := range pixels {
			floats[i] = (float32(k)/255 - 0.5) / 0.25
		}
		x.Shape, x.Values = []int{n, 6, 6}, floats
	case "vectors", "central", "other":
		x.Values = numbers
	case "ids":
		x.Values = numbers
		classes[0] = 1436278513418522631
	case "near":
		near := make([]float64, len(ids))
		for i, id := range ids {
			near[i] = 1.6e9 + float64(id)
		}
		x.Values = near
	case "steps":
		y.Shape, y.Values = x.Shape, ids
	case "mislabeled":
		x.Values = numbers
		classes[7] = 1 - classes[7]
	case "numbers":
		x.Values = numbers
		targets := make([]float32, n)
		for i, class := range classes {
			targets[i] = float32(3*class) + float32(i%5)/10
		}
		y.Values = targets
	case "flat":
		x.Values = numbers
		y.Values = slices.Repeat([]float32{0.3}, n)
	case "same":
		x.Values = numbers
		y.Values = slices.Repeat([]int64{1}, n)
	case "pairs":
		x.Values = numbers
		y.Shape = []int{n, 2}
		targets := make([]float32, 2*n)
		for i, class := range classes {
			targets[2*i], targets[2*i+1] = float32(class), 5-float32(3*class)+float32(i%5)/10
		}
		y.Values = targets
	case "labels":
		x.Values = numbers
		y.Shape = []int{n, 3}
		has := make([]uint8, 3*n)
		for i, class := range classes {
			has[3*i], has[3*i+1+int(class)] = 1, 1
		}
		y.Values = has
	}
	arrays := []npztest.Array{x, client}
	switch args[1] {
	case "central":
		arrays = append(arrays, npztest.Array{Name: "x_test", Shape: []int{n / 2, width}, Values: numbers[:n/2*width]},
			npztest.Array{Name: "y_test", Shape: []int{n / 2}, Values: classes[:n/2]})
	case "other":
		arrays = append(arrays, npztest.Array{Name: "x_test", Shape: []int{2, width}, Values: numbers[:2*width]},
			npztest.Array{Name: "y_test", Shape: []int{2}, Values: []int64{1, 2}})
	case "dark":
		bits := slices.Repeat([]uint8{0, 1}, 36)
		arrays = append(arrays, npztest.Array{Name: "x_test", Shape: []int{2, 6, 6}, Values: bits},
			npztest.Array{Name: "y_test", Shape: []int{2}, Values: []int64{0, 1}})
	case "spaced":
		arrays[0].Header = "{ 'descr' : '<i8' , 'fortran_order' : False , 'shape' : (60,36) }"
	case "turned":
		arrays[0].Header = "{'shape': (60, 36), 'descr': '<i8', 'fortran_order': False, }"
	case "twice":
		arrays = append(arrays, client)
	case "wild": // a name that no terminal should be sent
		arrays = []npztest.Array{{Name: "\x1b[31m" + strings.Repeat("w", 60_000), Shape: []int{n}, Values: classes}}
	case "letters":
		arrays[0].Header = "{'descr': '<U4611686018427387904', 'fortran_order': False, 'shape': (60, 36), }"
	case "claims":
		arrays[0].Header = "{'descr': '<f8', 'fortran_order': False, 'shape': (60, 83333333333), }"
	}
	if args[1] != "text" {
		arrays = append(arrays, y)
	}
	content, err := npztest.Encode(true, arrays...)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), content, 0o600))
}

// decode reads a JSON file.
func decode[T any](ts *testscript.TestScript, file string) T {
	var v T
	if err := json.Unmarshal([]byte(ts.ReadFile(file)), &v); err != nil {
		ts.Fatalf("%s: %v", file, err)
	}
	return v
}

// jsonHas FILE KEY...: the file is an object with a value under every key.
func jsonHas(ts *testscript.TestScript, neg bool, args []string) {
	object := decode[map[string]any](ts, args[0])
	for _, key := range args[1:] {
		if (object[key] == nil) != neg {
			ts.Fatalf("%s: %s is %v", args[0], key, object[key])
		}
	}
}

// jsonList FILE KEY...: the file is a list of objects, not empty, and each has a
// value that is no empty string under every key.
func jsonList(ts *testscript.TestScript, neg bool, args []string) {
	list := decode[[]map[string]any](ts, args[0])
	if neg || len(list) == 0 {
		ts.Fatalf("%s: an empty list", args[0])
	}
	for i, object := range list {
		for _, key := range args[1:] {
			if object[key] == nil || object[key] == "" {
				ts.Fatalf("%s: entry %d has no %s", args[0], i, key)
			}
		}
	}
}

// jsonSame FILE FILE KEY...: both objects have equal values under every key.
func jsonSame(ts *testscript.TestScript, neg bool, args []string) {
	a, b := decode[map[string]json.RawMessage](ts, args[0]), decode[map[string]json.RawMessage](ts, args[1])
	for _, key := range args[2:] {
		if a[key] == nil || bytes.Equal(a[key], b[key]) == neg {
			ts.Fatalf("%s: %s and %s", key, a[key], b[key])
		}
	}
}

// waitFor FILE: waits until the file holds something.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	for range 600 {
		if info, err := os.Stat(ts.MkAbs(args[0])); err == nil && info.Size() > 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%s does not come", args[0])
}
