package parquet_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/fedfast/fedfast/internal/formats/parquet"
	"github.com/fedfast/fedfast/internal/test/memtest"
)

// row has a column of each kind in each encoding that is read.
type row struct {
	Bool   bool    `parquet:"bool"`
	Int    int32   `parquet:"int,plain"`
	Dict   int64   `parquet:"dict,dict"`
	Delta  int32   `parquet:"delta,delta"`
	Long   int64   `parquet:"long,delta"`
	Float  float32 `parquet:"float,split"`
	Double float64 `parquet:"double"`
	Plain  string  `parquet:"plain,plain"`
	Same   string  `parquet:"same,dict"`
	Text   string  `parquet:"text,delta"`
	Inner  inner   `parquet:"inner,optional"`
}

type inner struct {
	Bytes []byte   `parquet:"bytes,optional"`
	List  []string `parquet:"list"`
}

func rows(n int, seed uint64) []row {
	r := rand.New(rand.NewPCG(seed, 1))
	text := func() string { return strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(12)) }
	list := make([]row, n)
	for i := range list {
		list[i] = row{
			Bool: r.IntN(3) == 0, Int: int32(r.Uint32()), Dict: r.Int64N(20) - 10,
			Delta: int32(i*3 - r.IntN(9)), Long: int64(r.Uint64()),
			Float: float32(r.NormFloat64()), Double: r.NormFloat64(), Plain: text(),
			Same: text()[:0] + []string{"x", "yy", ""}[r.IntN(3)], Text: "prefix/" + text(),
			Inner: inner{Bytes: []byte(text() + "."), List: slices.Repeat([]string{"e"}, r.IntN(4))},
		}
	}
	list[n/2].Delta, list[n/2].Long = math.MinInt32, math.MinInt64
	return list
}

// read returns the values of a column as texts.
func read(t testing.TB, path, column string) ([]string, error) {
	f, err := parquet.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	var all []string
	for i := range f.Columns {
		if c := &f.Columns[i]; strings.Join(c.Path, ".") == column {
			err = f.Each(t.Context(), c, func(row int, v parquet.Value) error {
				if row != len(all)+1 {
					t.Fatalf("row %d after %d", row, len(all))
				}
				switch c.Kind {
				case parquet.Float, parquet.Double:
					all = append(all, fmt.Sprint(v.Float))
				case parquet.ByteArray:
					all = append(all, string(v.Bytes))
				default:
					all = append(all, strconv.FormatInt(v.Int, 10))
				}
				return nil
			})
			return all, err
		}
	}
	return nil, fmt.Errorf("no column %s", column)
}

// TestAgainstLibrary reads what another implementation writes, packed in every way and
// in both versions of pages.
func TestAgainstLibrary(t *testing.T) {
	for _, codec := range []compress.Codec{
		&library.Uncompressed, &library.Snappy, &library.Gzip,
		&library.Zstd, &library.Lz4Raw,
	} {
		for version := range 2 {
			want := rows(1000, uint64(version))
			path := filepath.Join(t.TempDir(), "x.parquet")
			err := library.WriteFile(path, want, library.Compression(codec), library.DataPageVersion(1+version),
				library.PageBufferSize(1500), library.MaxRowsPerRowGroup(300))
			if err != nil {
				t.Fatal(err)
			}
			for column, value := range map[string]func(r *row) any{
				"bool": func(r *row) any { return map[bool]int{true: 1}[r.Bool] }, "int": func(r *row) any { return r.Int },
				"dict":  func(r *row) any { return r.Dict },
				"delta": func(r *row) any { return r.Delta }, "long": func(r *row) any { return r.Long },
				"float": func(r *row) any { return float64(r.Float) }, "double": func(r *row) any { return r.Double },
				"plain": func(r *row) any { return r.Plain }, "same": func(r *row) any { return r.Same },
				"text":        func(r *row) any { return r.Text },
				"inner.bytes": func(r *row) any { return string(r.Inner.Bytes) },
			} {
				got, err := read(t, path, column)
				if err != nil || len(got) != len(want) {
					t.Errorf("%v, version %d, column %s: %d values, error %v", codec, 1+version, column, len(got), err)
					continue
				}
				for i := range want {
					if w := fmt.Sprint(value(&want[i])); got[i] != w {
						t.Errorf("%v, version %d, column %s, row %d: %q, want %q", codec, 1+version, column, i, got[i], w)
						break
					}
				}
			}
			if _, err := read(t, path, "inner.list"); err == nil || !strings.HasSuffix(err.Error(),
				"column inner.list: it contains lists; save one value per row") {
				t.Errorf("a list: error %v", err)
			}
		}
	}
}

// TestDeltaTexts reads texts that begin as the one before.
func TestDeltaTexts(t *testing.T) {
	var want []string
	for i := range 500 {
		want = append(want, fmt.Sprintf("row %04d", i*7))
	}
	schema := library.NewSchema("x", library.Group{"text": library.Encoded(library.String(), &library.DeltaByteArray)})
	var out bytes.Buffer
	type line struct {
		Text string `parquet:"text"`
	}
	w := library.NewGenericWriter[line](&out, schema)
	for _, text := range want {
		if _, err := w.Write([]line{{text}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, save(t, out.Bytes()), "text"); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d values, error %v", len(got), err)
	}
}

func save(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// page is a page of a made file.
type page struct {
	header format.PageHeader
	body   []byte
}

// made returns a file of one column and one group of rows.
func made(t testing.TB, kind format.Type, codec format.CompressionCodec, rows int64, pages ...page) []byte {
	t.Helper()
	protocol := &thrift.CompactProtocol{}
	marshal := func(v any) []byte {
		b, err := thrift.Marshal(protocol, v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	file := []byte("PAR1")
	for _, p := range pages {
		p.header.CompressedPageSize = int32(len(p.body))
		file = append(append(file, marshal(&p.header)...), p.body...)
	}
	size := int64(len(file)) - 4
	meta := format.FileMetaData{Version: 1, NumRows: rows, CreatedBy: "test"}
	meta.Schema = []format.SchemaElement{{Name: "x"}, {Name: "label"}}
	meta.Schema[0].NumChildren.V, meta.Schema[0].NumChildren.Valid = 1, true
	meta.Schema[1].Type.V, meta.Schema[1].Type.Valid = kind, true
	meta.RowGroups = []format.RowGroup{{
		NumRows: rows, TotalByteSize: size,
		Columns: []format.ColumnChunk{{FileOffset: 4, MetaData: format.ColumnMetaData{
			Type: kind, Encoding: []format.Encoding{format.Plain}, PathInSchema: []string{"label"}, Codec: codec,
			NumValues: rows, TotalCompressedSize: size, TotalUncompressedSize: size, DataPageOffset: 4,
		}}},
	}}
	return end(file, marshal(&meta))
}

// end returns a file with its footer.
func end(file, footer []byte) []byte {
	file = append(file, footer...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
}

// dictionary and data are pages of values.
func dictionary(values, size int, body []byte) page {
	p := page{header: format.PageHeader{Type: format.DictionaryPage, UncompressedPageSize: int32(size)}, body: body}
	p.header.DictionaryPageHeader.V,
		p.header.DictionaryPageHeader.Valid = format.DictionaryPageHeader{
		NumValues: int32(values),
		Encoding:  format.Plain,
	}, true
	return p
}

func data(values, size int, encoding format.Encoding, body []byte) page {
	p := page{header: format.PageHeader{Type: format.DataPage, UncompressedPageSize: int32(size)}, body: body}
	p.header.DataPageHeader.V = format.DataPageHeader{
		NumValues: int32(values), Encoding: encoding,
		DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	}
	p.header.DataPageHeader.Valid = true
	return p
}

// run returns a run of n equal numbers of 8 bits, as a page of a dictionary's numbers.
func run(n uint64) []byte { return append(binary.AppendUvarint([]byte{8}, n<<1), 0) }

// bombs are small files that say that they are large, by their names.
func bombs(t testing.TB) map[string][]byte {
	t.Helper()
	number := make([]byte, 8)
	zeros := func(w io.WriteCloser, n int) {
		for range n >> 20 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var gz, zs bytes.Buffer
	zeros(gzip.NewWriter(&gz), 96<<20)
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	zeros(z, 256<<20)
	text := append(binary.LittleEndian.AppendUint32(nil, 120_000), make([]byte, 120_000)...)
	nested := bytes.Repeat([]byte{0x1c}, 1<<16)
	lists := append([]byte{0x19}, bytes.Repeat([]byte{0x19}, 1<<16)...)
	delta := func(n uint64) []byte {
		b := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4), n)
		return append(b, 0)
	}
	return map[string][]byte{
		"20 M rows": made(t, format.Int64, format.Uncompressed, 20_000_000, dictionary(1, 8, number),
			data(20_000_000, len(run(20_000_000)), format.RLEDictionary, run(20_000_000))),
		"2^60 rows":  made(t, format.Int64, format.Uncompressed, 1<<60, data(8, 8, format.Plain, number)),
		"gzip":       made(t, format.Int64, format.Gzip, 1, data(1, 8, format.Plain, gz.Bytes())),
		"gzip, said": made(t, format.Int64, format.Gzip, 1, data(1, 96<<20, format.Plain, gz.Bytes())),
		"zstd":       made(t, format.Int64, format.Zstd, 1, data(1, 8, format.Plain, zs.Bytes())),
		"snappy": made(t, format.Int64, format.Snappy, 1, data(1, 8, format.Plain, []byte{
			0xff,
			0xff, 0xff, 0xff, 0x0f, 0,
		})),
		"snappy, said": made(t, format.Int64, format.Snappy, 1, data(1, 1<<30, format.Plain, []byte{
			0x80,
			0x80, 0x80, 0x80, 0x04, 0,
		})),
		"lz4": made(t, format.Int64, format.Lz4Raw, 1,
			data(1, 8, format.Plain, bytes.Repeat([]byte{0xff}, 100))),
		"brotli": made(t, format.Int64, format.Brotli, 1, data(1, 8, format.Plain, number)),
		"one text often": made(t, format.ByteArray, format.Uncompressed, 1_000_000, dictionary(1, len(text), text),
			data(1_000_000, len(run(1_000_000)), format.RLEDictionary, run(1_000_000))),
		"large dictionary": made(t, format.ByteArray, format.Uncompressed, 1, dictionary(1<<30, 8, number),
			data(1, 3, format.RLEDictionary, run(1))),
		"long page":   made(t, format.Int64, format.Uncompressed, 1, data(1, math.MaxInt32, format.Plain, number)),
		"many values": made(t, format.Int64, format.Uncompressed, 1, data(math.MaxInt32, 8, format.Plain, number)),
		"differences": made(t, format.Int64, format.Uncompressed, 1,
			data(1, len(delta(1<<40)), format.DeltaBinaryPacked, delta(1<<40))),
		"lengths": made(t, format.ByteArray, format.Uncompressed, 7_000_000,
			data(7_000_000, len(delta(7_000_000)), format.DeltaLengthByteArray, delta(7_000_000))),
		"nested footer": end([]byte("PAR1"), nested),
		"lists":         end([]byte("PAR1"), lists),
		"long list":     end([]byte("PAR1"), []byte{0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0}),
		"long footer":   append(binary.LittleEndian.AppendUint32([]byte("PAR1"), math.MaxUint32), "PAR1"...),
	}
}

// TestBombs holds that small files that say that they are large are refused in a line
// that describes what they say and what is possible.
func TestBombs(t *testing.T) {
	want := map[string]string{
		"20 M rows":        "column label: its 20000000 rows: would become 160 MB in memory, but a file of 144 bytes may become 67.2 MB at most",
		"2^60 rows":        "column label: its 1152921504606846976 rows: would become 9.01 PB in memory, but a file",
		"gzip":             "column label: the file is damaged: what must unpack to 8 bytes: it unpacks to more",
		"gzip, said":       "column label: a page of 97865 bytes, unpacked 100663296: would become 101 MB in memory, but a file of 98 kB may become 96.5 MB at most",
		"zstd":             "column label: the file is damaged: what must unpack to 8 bytes: ",
		"snappy":           "column label: the file is damaged: what must unpack to 8 bytes: ",
		"snappy, said":     "column label: a page of 6 bytes, unpacked 1073741824: would become 1.07 GB in memory, but a file of",
		"lz4":              "column label: the file is damaged: what must unpack to 8 bytes: ",
		"brotli":           "column label: unsupported codec BROTLI; save it with snappy, gzip or zstd",
		"one text often":   "column label: read 120 MB",
		"large dictionary": "column label: the file is damaged: a dictionary of 1073741824 texts in 8 bytes",
		"long page":        "column label: a page of 8 bytes, unpacked 2147483647: would become 2.15 GB in memory",
		"many values":      "column label: the file is damaged: a page says that it has 2147483647 values, where 1 rows are left",
		"differences":      "column label: the file is damaged: blocks of 128 values in 4 parts, 1099511627776 in all, of a page with 1",
		"lengths":          "column label: would become 112 MB in memory, but a file of",
		"nested footer":    "not a Parquet file: its footer: structures nested more than 32 deep",
		"lists":            "not a Parquet file: its footer: a list of lists, as no file has",
		"long list":        "not a Parquet file: its footer: would become 1.29 TB in memory",
		"long footer":      "not a Parquet file: footer length 4294967295 exceeds file size 12",
	}
	for name, content := range bombs(t) {
		path := save(t, content)
		memtest.Bounded(t, len(content), func() {
			err := all(t, path)
			if err == nil || !strings.HasPrefix(err.Error(), path+": "+want[name]) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %v\nwant %s", name, err, want[name])
			}
		})
	}
}

// all reads all columns of a file, and fails when texts sum to 120 MB, as who keeps them
// would.
func all(t testing.TB, path string) error {
	f, err := parquet.Open(path)
	if err != nil {
		return err
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i := range f.Columns {
		sum := 0
		err := f.Each(t.Context(), &f.Columns[i], func(_ int, v parquet.Value) error {
			if sum += len(v.Bytes); sum >= 120e6 {
				return fmt.Errorf("read %d MB", sum/1e6)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// FuzzFile: any bytes give values or one line, in bounded memory and time.
func FuzzFile(f *testing.F) {
	for _, codec := range []compress.Codec{&library.Uncompressed, &library.Snappy, &library.Gzip, &library.Zstd} {
		var out bytes.Buffer
		if err := library.Write(&out, rows(20, 3), library.Compression(codec)); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes(), uint16(0), uint32(0))
		f.Add(out.Bytes(), uint16(20), uint32(0xff00ff))
	}
	for _, content := range bombs(f) {
		if len(content) < 10_000 {
			f.Add(content, uint16(0), uint32(0))
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, at uint16, value uint32) {
		content = bytes.Clone(content)
		for i := range 4 { // a change that a fuzzer of bytes seldom finds
			if p := int(at) + i; value != 0 && p < len(content) {
				content[p] ^= byte(value >> (8 * i))
			}
		}
		path := save(t, content)
		memtest.Bounded(t, len(content), func() {
			if err := all(t, path); err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path)) {
				t.Errorf("error %q", err)
			}
		})
	})
}
