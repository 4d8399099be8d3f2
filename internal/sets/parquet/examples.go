package parquet

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/formats/parquet"
	"github.com/fedfast/fedfast/internal/sets/picture"
	"github.com/fedfast/fedfast/internal/sets/words"
)

// images reads the pictures of all samples. The first one describes how large all are, and
// whether they are grey.
func (o *own) images(ctx context.Context) (data.View, error) {
	var pixels []byte
	fed := o.fed
	for _, f := range o.files {
		leaf, err := must(f, "pictures", imageNames)
		if err != nil {
			return data.View{}, err
		}
		if leaf.Kind != parquet.ByteArray {
			return data.View{}, fmt.Errorf("%s: column %s is of type %v, must be the bytes of PNG or JPEG", f.Path, leaf.Path[0], leaf.Kind)
		}
		err = f.Each(ctx, leaf, func(row int, v parquet.Value) error {
			m, err := picture.Decode(v.Bytes, f.Budget, func(w, h int) error {
				if fed.C > 0 && (w != fed.W || h != fed.H) {
					return fmt.Errorf("it has %d x %d pixels, the first one %d x %d; resize all to one size", w, h, fed.W, fed.H)
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("the picture of row %d: %w", row, err)
			}
			if fed.C == 0 {
				size := m.Bounds().Size()
				fed.H, fed.W, fed.C = size.Y, size.X, picture.Channels(m)
			}
			if fed.C == 1 && picture.Channels(m) != 1 {
				return fmt.Errorf("the picture of row %d has colours, the first one is grey; save all in one mode", row)
			}
			if err := f.Budget.Take(int64(fed.W * fed.H * fed.C)); err != nil {
				return fmt.Errorf("the pictures up to row %d: %w", row, err)
			}
			pixels = picture.Append(pixels, m, fed.C)
			return nil
		})
		if err != nil {
			return data.View{}, err
		}
	}
	if len(pixels) != len(o.labels)*fed.H*fed.W*fed.C {
		return data.View{}, fmt.Errorf("%s: there are not as many pictures as labels; the file is damaged", o.cfg.Path)
	}
	return data.ImageView(fed.H, fed.W, fed.C, pixels, o.labels), nil
}

// texts reads the texts of all samples.
func (o *own) texts(ctx context.Context) (data.View, error) {
	var lines [][]byte
	counts := words.NewCount()
	for i, f := range o.files {
		leaf, err := must(f, "texts", textNames)
		if err != nil {
			return data.View{}, err
		}
		if leaf.Kind != parquet.ByteArray {
			return data.View{}, fmt.Errorf("%s: column %s is of type %v, must be texts", f.Path, leaf.Path[0], leaf.Kind)
		}
		err = f.Each(ctx, leaf, func(row int, v parquet.Value) error {
			if err := f.Budget.Take(2*int64(len(v.Bytes)) + 2*textLen + textSize); err != nil {
				return fmt.Errorf("the texts up to row %d: %w", row, err)
			}
			line := words.Line(v.Bytes)
			if lines = append(lines, line); i < o.train {
				counts.Add(line)
			}
			return nil
		})
		if err != nil {
			return data.View{}, err
		}
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
	return data.TokenView(textLen, rows, o.labels), nil
}
