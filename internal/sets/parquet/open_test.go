package parquet_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// picture is how Hugging Face saves one.
type picture struct {
	Bytes []byte  `parquet:"bytes,optional"`
	Path  *string `parquet:"path,optional"`
}

// photo is a row of a set of pictures.
type photo struct {
	Image picture `parquet:"image,optional"`
	Label int64   `parquet:"label"`
	User  string  `parquet:"user"`
}

// grey encodes a picture of one shade of grey.
func grey(t testing.TB, w, h int, shade byte) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = shade
	}
	var out bytes.Buffer
	settest.Must(t, png.Encode(&out, m))
	return out.Bytes()
}

// colour encodes a picture of one colour, as PNG or JPEG.
func colour(t testing.TB, w, h int, c color.NRGBA, lossy bool) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, c)
		}
	}
	var out bytes.Buffer
	if lossy {
		settest.Must(t, jpeg.Encode(&out, m, nil))
	} else {
		settest.Must(t, png.Encode(&out, m))
	}
	return out.Bytes()
}

func write[T any](t testing.TB, path string, rows []T) string {
	t.Helper()
	settest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	settest.Must(t, library.WriteFile(path, rows, library.Compression(&library.Snappy), library.MaxRowsPerRowGroup(7)))
	return path
}

// fill reads all examples of a view.
func fill(t testing.TB, v data.View, floats, ids int) (x []float32, tokens, labels []int32) {
	t.Helper()
	var pos []int32
	for i := range v.Len() {
		pos = append(pos, int32(i))
	}
	x, tokens, labels = make([]float32, len(pos)*floats), make([]int32, len(pos)*ids), make([]int32, len(pos))
	settest.Must(t, v.Fill(pos, x, tokens, labels, nil))
	return x, tokens, labels
}

// TestOpenPictures: files of Hugging Face's form, train and test, with clients whose
// numbers order them; and the same dealt.
func TestOpenPictures(t *testing.T) {
	dir := t.TempDir()
	var train, test []photo
	for i := range 20 {
		p := photo{Image: picture{Bytes: grey(t, 4, 3, byte(10*i))}, Label: int64(i % 3), User: []string{"10", "9"}[i%2]}
		if train = append(train, p); i < 4 {
			test = append(test, p)
		}
	}
	write(t, filepath.Join(dir, "data", "train-00000-of-00002.parquet"), train[:11])
	write(t, filepath.Join(dir, "data", "train-00001-of-00002.parquet"), train[11:])
	write(t, filepath.Join(dir, "data", "test-00000-of-00001.parquet"), test)
	cfg := data.Config{Name: "parquet", Path: dir, Split: "100/0/files", MinSamples: 1, IID: new(false)}
	fed := settest.Open(t, cfg)
	if fed.H != 3 || fed.W != 4 || fed.C != 1 || fed.Classes != 3 || len(fed.Clients) != 2 || fed.Clients[0].ID != "9" {
		t.Fatalf("%d x %d x %d, %d classes, clients %v", fed.H, fed.W, fed.C, fed.Classes, fed.Clients)
	}
	c := fed.Clients[1]
	x, _, labels := fill(t, c.Train, 12, 0)
	if want := []int32{0, 2, 1, 0, 2, 1, 0, 2, 1, 0}; !slices.Equal(labels, want) || x[0] != 0 ||
		x[12] != 20./255 || x[119] != 180./255 {
		t.Errorf("labels %v, want %v; pixels %v", labels, want, x)
	}
	if _, _, labels := fill(t, c.Test, 12, 0); !slices.Equal(labels, []int32{0, 2}) {
		t.Errorf("test labels %v", labels)
	}
	print := fed.Fingerprint

	cfg.Partition, cfg.Clients = "iid", 4
	if dealt := settest.Open(t, cfg); len(dealt.Clients) != 4 || dealt.Clients[0].Train.Len() != 5 ||
		dealt.Clients[0].Test.Len() != 1 {
		t.Errorf("dealt %v", dealt.Notes)
	}
	cfg.Partition, cfg.Clients = "", 0
	train[3].Image.Bytes = grey(t, 4, 3, 31)
	write(t, filepath.Join(dir, "data", "train-00000-of-00002.parquet"), train[:11])
	if other := settest.Open(t, cfg); other.Fingerprint == print || print == "" {
		t.Errorf("fingerprint %q of other pixels, too", other.Fingerprint)
	}
}

// TestOpenCentral: test files without a column of clients are a test set of no client;
// training files all have it, or none.
func TestOpenCentral(t *testing.T) {
	type bare struct {
		Image picture `parquet:"image,optional"`
		Label int64   `parquet:"label"`
	}
	dir := t.TempDir()
	var train []photo
	for i := range 20 {
		train = append(train, photo{
			Image: picture{Bytes: grey(t, 2, 1, byte(i))}, Label: int64(i % 3),
			User: []string{"a", "b"}[i%2],
		})
	}
	test := []bare{{train[7].Image, 2}, {train[9].Image, 1}}
	write(t, filepath.Join(dir, "train.parquet"), train)
	write(t, filepath.Join(dir, "test-0.parquet"), test)
	write(t, filepath.Join(dir, "test-1.parquet"), test)
	cfg := data.Config{Name: "parquet", Path: dir}
	fed := settest.Open(t, cfg)
	if x, _, labels := fill(t, fed.Test, 2, 0); len(fed.Clients) != 2 || !slices.Equal(labels, []int32{
		2,
		1, 2, 1,
	}) || x[0] != 7./255 {
		t.Errorf("%d clients, test set %v, labels %v", len(fed.Clients), x, labels)
	}
	write(t, filepath.Join(dir, "test-1.parquet"), train[:4])
	if _, err := data.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(),
		"one has a column of clients, the other has none") {
		t.Errorf("one test file of two with clients: %v", err)
	}
	write(t, filepath.Join(dir, "test-1.parquet"), test)
	write(t, filepath.Join(dir, "train-1.parquet"), test)
	if _, err := data.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(),
		"one has a column of clients, the other has none") {
		t.Errorf("one training file of two with clients: %v", err)
	}
}

// TestOpenColours: plain bytes in PNG and JPEG, and names as labels.
func TestOpenColours(t *testing.T) {
	type row struct {
		Img   []byte `parquet:"img"`
		Class string `parquet:"class"`
	}
	var rows []row
	for i := range 12 {
		rows = append(rows, row{colour(t, 8, 8, color.NRGBA{200, 100, 50, 255}, i%2 == 1), []string{"zebra", "ant"}[i%2]})
	}
	path := write(t, filepath.Join(t.TempDir(), "own.parquet"), rows)
	fed := settest.Open(t, data.Config{
		Name: "parquet", Path: path, Partition: "iid", Clients: 1,
		MinSamples: 1, Split: "100/0/0",
	})
	if fed.C != 3 || fed.Classes != 2 {
		t.Fatalf("%d channels, %d classes", fed.C, fed.Classes)
	}
	x, _, labels := fill(t, fed.Clients[0].Train, 192, 0)
	for i, label := range labels {
		for k, want := range []float32{200, 100, 50} {
			if got := 255 * x[192*i+k]; got-want > 3 || want-got > 3 || label == 1 && got != want {
				t.Errorf("sample %d of class %d has %v, want %v", i, label, got, want)
			}
		}
	}
	if counts := settest.ClassCounts(t, fed.Clients[0].Train, 2); !slices.Equal(counts, []int{6, 6}) {
		t.Errorf("classes %v", counts)
	}
	mean, std := []float64{0.485, 0.456, 0.406}, []float64{0.229, 0.224, 0.225}
	fed = settest.Open(t, data.Config{
		Name: "parquet", Path: path, Partition: "iid", Clients: 1, MinSamples: 1,
		Split: "100/0/0", ImageMean: mean, ImageStd: std,
	})
	normalized, _, _ := fill(t, fed.Clients[0].Train, 192, 0)
	for i, x := range x {
		if want := (x - float32(mean[i%3])) / float32(std[i%3]); normalized[i] != want {
			t.Fatalf("number %d is %v, want %v", i, normalized[i], want)
		}
	}
}

// TestOpenTexts: words by how often the training texts have them, and numbers to
// predict.
func TestOpenTexts(t *testing.T) {
	type row struct {
		Text  string  `parquet:"text"`
		Label float64 `parquet:"label"`
		Who   int32   `parquet:"client"`
	}
	var rows []row
	for i := range 10 {
		rows = append(rows, row{"B a's, b! B " + strings.Repeat("rare ", i/9), float64(i), int32(i % 2)})
	}
	path := write(t, filepath.Join(t.TempDir(), "own.parquet"), rows)
	fed := settest.Open(t, data.Config{Name: "parquet-text", Path: path, Vocab: 3, MinSamples: 1, Split: "100/0/0"})
	if fed.Target != data.Numbers || fed.Vocab != 5 || fed.SeqLen != 64 || len(fed.Clients) != 2 {
		t.Fatalf("target %v, %d ids, %d words, %d clients", fed.Target, fed.Vocab, fed.SeqLen, len(fed.Clients))
	}
	v := fed.Clients[1].Train
	_, tokens, _ := fill(t, v, 0, 64)
	if last := tokens[4*64:][:8]; last[0] != 1 || last[3] != 1 || last[5] != 1 || last[6] != 4 || last[7] != 0 {
		t.Errorf("ids %v: the most frequent word must be 1, a rare one 4, padding 0", last)
	}
	y := make([]float32, 5)
	if err := v.FillTargets([]int32{0, 1, 2, 3, 4}, y); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(y, []float32{1, 3, 5, 7, 9}) {
		t.Errorf("targets %v", y)
	}
}

// TestOpenErrors checks one line for each file that cannot be used.
func TestOpenErrors(t *testing.T) {
	type labelled struct {
		Image []byte `parquet:"image"`
		Label int32  `parquet:"label"`
	}
	type odd struct {
		Image []byte   `parquet:"image"`
		Label []int32  `parquet:"label"`
		Text  struct{} `parquet:"-"`
	}
	ok := labelled{grey(t, 4, 4, 1), 0}
	path := filepath.Join(t.TempDir(), "own.parquet")
	for want, make := range map[string]func() string{
		`own.parquetx": no such file or folder`: func() string { return path + "x" },
		"not a Parquet file": func() string {
			settest.Must(t,
				os.WriteFile(path, []byte("PAR1 nonsense"), 0o600))
			return path
		},
		"no .parquet file of training": func() string { return t.TempDir() },
		"the picture of row 2: it has 5 x 4 pixels, the first one 4 x 4; resize all to one size": func() string {
			return write(t, path, []labelled{ok, {grey(t, 5, 4, 1), 0}})
		},
		"the picture of row 2 has colours, the first one is grey": func() string {
			return write(t, path, []labelled{ok, {colour(t, 4, 4, color.NRGBA{1, 2, 3, 255}, false), 0}})
		},
		"the picture of row 1: it is no PNG or JPEG": func() string { return write(t, path, []labelled{{[]byte("GIF"), 0}}) },
		"the picture of row 1: it says that it has 50000 x 50000 pixels: would become 10 GB in memory, but a file of 687 bytes may become 67.3 MB at most": func() string {
			return write(t, path, []labelled{{bomb(50_000), 0}})
		},
		"the picture of row 2: it has 50000 x 50000 pixels, the first one 4 x 4": func() string {
			return write(t, path, []labelled{ok, {bomb(50_000), 0}})
		},
		"own.parquet: column of labels: label 1 is -1; read are classes from 0 to 1048575: leave samples without a label out, frame = frame[frame.label >= 0], or save numpy.unique(frame.label, return_inverse=True)[1]": func() string { return write(t, path, []labelled{ok, {ok.Image, -1}}) },
		"column label contains lists": func() string {
			return write(t, path,
				[]odd{{ok.Image, []int32{1}, struct{}{}}})
		},
		`column image.bytes: row 1 has a path at most; save {"bytes": open(path, "rb").read(), "path": path}`: func() string {
			return write(t,
				path, []photo{{User: "a"}})
		},
		"column user: the client of row 1 is \"\", which stands for a missing value": func() string {
			return write(t, path,
				[]photo{{}})
		},
		"has no column of pictures, named image, img, picture, but x": func() string {
			return write(t, path, []struct {
				X     int32 `parquet:"x"`
				Label int32 `parquet:"label"`
			}{{1, 2}})
		},
		"has no column of clients": func() string { return write(t, path, []labelled{ok}) },
		"damaged": func() string {
			write(t, path, slices.Repeat([]labelled{ok}, 20))
			b, err := os.ReadFile(path)
			settest.Must(t, err)
			for i := 20; i < 200; i++ {
				b[i] ^= 0x55
			}
			settest.Must(t, os.WriteFile(path, b, 0o600))
			return path
		},
	} {
		_, err := data.Open(t.Context(), data.Config{Name: "parquet", Path: make(), MinSamples: 1})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v\nwant %s", err, want)
		}
	}
}

// bomb is the beginning of a PNG that says that it has side x side pixels.
func bomb(side uint32) []byte {
	chunk := []byte("IHDR")
	chunk = binary.BigEndian.AppendUint32(chunk, side)
	chunk = binary.BigEndian.AppendUint32(chunk, side)
	chunk = append(chunk, 8, 2, 0, 0, 0)
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d")
	return binary.BigEndian.AppendUint32(append(b, chunk...), crc32.ChecksumIEEE(chunk))
}
