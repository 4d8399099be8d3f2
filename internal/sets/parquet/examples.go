// Package parquet holds the sets of users' own data in Apache Parquet's format, as
// Hugging Face's sets are saved: pictures in PNG or JPEG, or texts, with a label each
// and perhaps a client.
package parquet

import (
	"bytes"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/formats/parquet"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sets/picture"
	"github.com/fedfast/fedfast/internal/sets/words"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// each calls with the values of a column of bytes, and the number of their file.
func (o *own) each(ctx context.Context, what string, names []string, are string,
	call func(f *parquet.File, i, row int, v parquet.Value) error,
) error {
	for i, f := range o.files {
		leaf, err := must(f, what, names)
		if err == nil && leaf.Kind != parquet.ByteArray {
			err = fmt.Errorf("%s: column %s is of type %v, must be %s", f.Path, leaf.Path[0], leaf.Kind, are)
		}
		if err == nil {
			o.used[leaf.Path[0]] = true
			leaf.Gaps = len(leaf.Path) > 1 // of {bytes, path}
			err = f.Each(ctx, leaf, func(row int, v parquet.Value) error { return call(f, i, row, v) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// images reads the pictures of all samples. The first one describes how large all are, and
// whether they are grey.
func (o *own) images(ctx context.Context) (data.View, error) {
	var pixels []byte
	var deep []uint16       // pixels of pictures of 16 bits
	depths := map[int]int{} // how many of these use how many bits
	clear, turned := false, 0
	fed := o.fed
	add := func(name string, encoded []byte, budget *memory.Budget) error {
		m, err := picture.Decode(encoded, budget, func(w, h int) error {
			if fed.C > 0 && (w != fed.W || h != fed.H) {
				return fmt.Errorf("it has %d x %d pixels, the first one %d x %d; resize all to one size", w, h, fed.W, fed.H)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("the picture of %s: %w", name, err)
		}
		if fed.C == 0 {
			size := m.Bounds().Size()
			fed.H, fed.W, fed.C = size.Y, size.X, picture.Channels(encoded, m)
		}
		if fed.C == 1 && picture.Channels(encoded, m) != 1 {
			return fmt.Errorf("the picture of %s has colours, the first one is grey; save all in one mode", name)
		}
		size := int64(fed.W * fed.H * fed.C)
		if picture.Deep(m) {
			size *= 3 // with those of 8 bits that they become
		}
		if err := budget.Take(size); err != nil {
			return fmt.Errorf("the pictures up to %s: %w", name, err)
		}
		if picture.Deep(m) && len(pixels) > 0 || !picture.Deep(m) && len(deep) > 0 {
			return fmt.Errorf("some pictures up to %s have 8 bits a channel, others 16; save all in one mode", name)
		}
		if picture.Turned(encoded) {
			turned++
		}
		o, ok := m.(interface{ Opaque() bool })
		clear = clear || ok && !o.Opaque()
		if picture.Deep(m) {
			from := len(deep)
			deep = picture.AppendDeep(deep, m, fed.C)
			depths[max(8, (bits.Len16(slices.Max(deep[from:]))+1)/2*2)]++ // as cameras have them: 10, 12, 14, 16
		} else {
			pixels = picture.Append(pixels, m, fed.C)
		}
		return nil
	}
	each := func() error {
		return o.each(ctx, "pictures", imageNames, "the bytes of PNG or JPEG",
			func(f *parquet.File, _, row int, v parquet.Value) error {
				if v.Missing {
					return fmt.Errorf("row %d has a path at most; save {\"bytes\": open(path, \"rb\").read(), \"path\": path} of "+
						"each, or leave such rows out", row)
				}
				return add(fmt.Sprintf("row %d", row), v.Bytes, f.Budget)
			})
	}
	if o.paths != nil {
		each = func() error { return o.eachFile(ctx, add) }
	}
	if err := each(); err != nil {
		return data.View{}, err
	}
	if len(deep) > 0 {
		least, most := slices.Min(deep), slices.Max(deep)
		used, above, spare := 16, 0, len(o.labels)/100 // pictures that are no measure of the others
		if len(o.labels) >= 10 {
			spare = max(1, spare)
		}
		for ; used > 8 && above+depths[used] <= spare; used -= 2 {
			above += depths[used]
		}
		for _, v := range deep {
			pixels = append(pixels, byte(min(v>>(used-8), 255)))
		}
		if above > 0 {
			fed.Notes = append(fed.Notes, fmt.Sprintf("%d of the pictures have pixels above %d: they are read as 255",
				above, 1<<used-1))
		}
		if used < 16 && least < most {
			fed.Notes = append(fed.Notes, fmt.Sprintf("the pictures have 16 bits a channel, of which the lower %d are used (the largest is %d): %d is read as 255", used, most, 1<<used-1))
		}
		second := uint16(0) // the largest value but one, above which a marker may be
		for _, v := range deep {
			if v < most {
				second = max(second, v)
			}
		}
		between, kept := fmt.Sprintf("from %d to %d", least, most), "x"
		if second > least && second < most/4 {
			between += fmt.Sprintf(", where all but that are at most %d", second)
			most, kept = second, fmt.Sprintf("numpy.minimum(x, %d)", second)
		}
		if levels := most>>(used-8) - least>>(used-8) + 1; used > 8 && levels < 32 && least < most {
			fed.Notes = append(fed.Notes, fmt.Sprintf("the pictures have 16 bits a channel, with values %s, "+
				"which become %d of 256 levels; to keep more, save ((%s - %d.0) * (65535 / %d)).astype(\"uint16\") of each picture x",
				between, levels, kept, least, most-least))
		}
	}
	if len(pixels) > 0 {
		switch least, most := slices.Min(pixels), slices.Max(pixels); {
		case least == most:
			fed.Notes = append(fed.Notes, fmt.Sprintf("all pixels of the pictures are %d of 255: there is nothing to learn "+
				"from", most))
		case most < 32 && deep == nil:
			fed.Notes = append(fed.Notes, fmt.Sprintf("the brightest pixel of the pictures is %d of 255; save "+
				"(x * (255 / %[1]d)).astype(\"uint8\") of each picture x if that is white", most))
		}
	}
	if clear {
		fed.Notes = append(fed.Notes, "some pictures are partly transparent: their colours are read, what is transparent is left out")
	}
	if turned > 0 {
		fed.Notes = append(fed.Notes, fmt.Sprintf("%d of the pictures say how to turn them (EXIF); they are read as stored, "+
			"as torchvision does: save PIL.ImageOps.exif_transpose(x) of each picture x to turn them", turned))
	}
	if len(pixels) != len(o.labels)*fed.H*fed.W*fed.C {
		return data.View{}, fmt.Errorf("%s: there are not as many pictures as labels; the file is damaged", o.cfg.Path)
	}
	return data.ImageView(fed.H, fed.W, fed.C, pixels, o.labels), nil
}

// characters counts the characters of a text but spaces.
func characters(text []byte) (n int) {
	for _, r := range string(text) {
		if !unicode.IsSpace(r) {
			n++
		}
	}
	return n
}

// texts reads the texts of all samples.
func (o *own) texts(ctx context.Context) (data.View, error) {
	var lines [][]byte
	none, single, long := 0, 0, 0 // texts without a word, of one, and of more than are read
	signs, all := 0, 0            // characters that are in no word, and all
	counts := words.NewCount()
	err := o.each(ctx, "texts", textNames, "texts", func(f *parquet.File, i, row int, v parquet.Value) error {
		if err := f.Budget.Take(2*int64(len(v.Bytes)) + 2*textLen + textSize); err != nil {
			return fmt.Errorf("the texts up to row %d: %w", row, err)
		}
		if !utf8.Valid(v.Bytes) {
			return fmt.Errorf("row %d: %.40q is not valid UTF-8; save texts in UTF-8", row, v.Bytes)
		}
		line := words.Line(words.Apart(v.Bytes), true)
		signs, all = signs+max(0, characters(v.Bytes)-characters(line)), all+characters(v.Bytes)
		switch n := bytes.Count(line, []byte{' '}) + 1; {
		case len(line) == 0:
			none++
		case n == 1:
			single++
		case n > textLen:
			long++
		}
		if lines = append(lines, line); i < o.train {
			counts.Add(line)
		}
		return nil
	})
	if err != nil {
		return data.View{}, err
	}
	if counts.None() {
		return data.View{}, fmt.Errorf("%s: the training texts have no words", o.cfg.Path)
	}
	if len(lines) != len(o.labels) {
		return data.View{}, fmt.Errorf("%s: there are not as many texts as labels; the file is damaged", o.cfg.Path)
	}
	vocab, err := words.New(counts.Frequent(o.cfg.Vocab))
	if err != nil {
		return data.View{}, err
	}
	rows := make([]uint16, 0, len(lines)*textLen)
	for _, line := range lines {
		rows = vocab.AppendText(rows, line, textLen)
	}
	o.fed.SeqLen, o.fed.Vocab = textLen, vocab.TextSize()
	o.fed.Notes = append(o.fed.Notes, fmt.Sprintf("the words are the %d that the training texts have most", vocab.Words()))
	if none > 0 {
		o.fed.Notes = append(o.fed.Notes, fmt.Sprintf("%d of %d texts have no words", none, len(lines)))
	}
	if single > len(lines)/2 {
		o.fed.Notes = append(o.fed.Notes, fmt.Sprintf("%d of %d texts are one word each: words are runs of letters and digits; put spaces between them", single, len(lines)))
	}
	if 10*signs > all {
		o.fed.Notes = append(o.fed.Notes, fmt.Sprintf("%d %% of the texts' characters are signs such as + or ) that are in "+
			"no word, and are left out; write those that matter as words", 100*signs/all))
	}
	if long > 0 {
		o.fed.Notes = append(o.fed.Notes, fmt.Sprintf("of %d of %d texts, which are longer, the first %d words are read", long, len(lines), textLen))
	}
	return data.TokenView(textLen, rows, o.labels), nil
}

// The names by which columns are found, the first that is there.
var (
	imageNames  = []string{"image", "img", "picture"}
	textNames   = []string{"text", "sentence", "content", "review"}
	labelNames  = []string{"label", "labels", "y", "target", "class", "fine_label", "sentiment"}
	clientNames = []string{"client", "client_id", "user", "user_id", "writer", "writer_id", "author", "speaker_id"}
)

// names returns the columns, those within others with dots.
func names(f *parquet.File) string {
	names := list.Of(f.Columns, func(c parquet.Column) string { return strings.Join(c.Path, ".") })
	return oneline.Names(names)
}

// column finds a column of one of some names that has one value a row, nil where there
// is no such column. A struct counts by its field bytes.
func column(f *parquet.File, names []string) (*parquet.Column, error) {
	for _, name := range names {
		var other *parquet.Column
		for i := range f.Columns {
			c := &f.Columns[i]
			switch {
			case c.Path[0] != name:
			case len(c.Path) > 1 && (len(c.Path) > 2 || c.Path[1] != "bytes"):
				other = c
			case c.Repeated:
				return nil, fmt.Errorf("%s: column %s contains lists; save one value per row", f.Path, name)
			default:
				return c, nil
			}
		}
		switch {
		case other == nil:
		case other.Repeated:
			return nil, fmt.Errorf("%s: column %s contains lists; save one value per row", f.Path, name)
		default:
			return nil, fmt.Errorf("%s: column %s has the field %s; save plain values, or pictures as {bytes, path}", f.Path, name, strings.Join(other.Path[1:], "."))
		}
	}
	return nil, nil
}

// must finds a column that has to be there.
func must(f *parquet.File, what string, list []string) (*parquet.Column, error) {
	c, err := column(f, list)
	if err == nil && c == nil {
		err = fmt.Errorf("%s has no column of %s, named %s, but %s", f.Path, what, strings.Join(list, ", "), names(f))
	}
	return c, err
}
