package parquet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/deal"
	"github.com/fedfast/fedfast/internal/formats/parquet"
	ownsets "github.com/fedfast/fedfast/internal/sets/own"
	"github.com/fedfast/fedfast/internal/sets/words"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

const (
	// textLen is how many words of a text are read, textSize about what a text takes
	// in addition to its letters.
	textLen  = 64
	textSize = 16
	path     = "a file in Parquet's format, or a folder of them, as Hugging Face's sets are saved: names with the word " +
		"test, of files or their folders, hold the test samples, and those with validation where none do"
)

var doc = fmt.Sprintf("; a label: column %s, integers from 0, names or, to predict, floats; a client, if there is one: column %s", strings.Join(labelNames, ", "), strings.Join(clientNames, ", "))

// Sets returns the sets of users' own data in Parquet's format: parquet, of pictures,
// and parquet-text; and image-folder, of pictures in files of their own.
func Sets() []data.Set {
	type samples func(*own, context.Context) (data.View, error)
	set := func(info data.SetInfo, open func(*own, context.Context) error, load samples) data.Set {
		info.Clients, info.Samples = cmp.Or(info.Clients, "by the column of clients, else dealt"), "as in the files"
		info.Path, info.OwnTest = cmp.Or(info.Path, path), true
		return data.Set{SetInfo: info, Load: func(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
			return loadOwn(ctx, cfg, open, load)
		}}
	}
	return []data.Set{
		set(data.SetInfo{
			Name: "parquet", Kind: data.Image, Input: "as in the files",
			Doc: "your own pictures of one size in PNG or JPEG: column " + strings.Join(imageNames, ", ") + ", their bytes, or Hugging Face's {bytes, path}" + doc,
		}, (*own).open, (*own).images),
		set(data.SetInfo{
			Name: "image-folder", Kind: data.Image, Input: "as in the files", Clients: "by the folders, else dealt",
			Path: folders,
			Doc: "your own pictures of one size in PNG or JPEG, in a folder for each class, as torchvision's ImageFolder has them, " +
				"which may be in folders for training and test, and of clients",
		}, (*own).walk, (*own).images),
		set(data.SetInfo{
			Name: "parquet-text", Kind: data.Tokens, Input: fmt.Sprintf("%d words", textLen), Vocab: words.Default, MaxVocab: words.Most,
			Doc: "your own texts: column " + strings.Join(textNames, ", ") + "; the words are the data.vocab that the training texts have most, in lower case (ids: padding, words, others)" + doc,
		}, (*own).open, (*own).texts),
	}
}

// own are the samples of files, those for training first.
type own struct {
	cfg     data.Config
	fed     *data.Federation
	files   []*parquet.File
	paths   []string // of pictures, instead of files
	train   int      // files with training samples
	first   int      // training samples
	labels  []int32
	numbers []float32       // to predict, instead of labels
	clients []string        // nil where there is no column
	used    map[string]bool // columns
}

func loadOwn(ctx context.Context, cfg data.Config, open func(*own, context.Context) error,
	load func(*own, context.Context) (data.View, error),
) (fed *data.Federation, examples []data.Examples, err error) {
	o := &own{cfg: cfg, fed: &data.Federation{H: 1, W: 1}, used: map[string]bool{}}
	defer func() {
		for _, f := range o.files {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := open(o, ctx); err != nil {
		return nil, nil, err
	}
	all, err := load(o, ctx)
	if err != nil {
		return nil, nil, err
	}
	o.unused()
	central := len(o.clients) == o.first && o.first < all.Len() // the test files have no clients
	if all.Len() != len(o.labels) || o.clients != nil && len(o.clients) != all.Len() && !central {
		return nil, nil, fmt.Errorf("%s: the columns have %d samples, %d labels and %d clients; the file is damaged", cfg.Path, all.Len(), len(o.labels), len(o.clients))
	}
	if o.numbers != nil {
		o.fed.Target, o.fed.Classes = data.Numbers, 1
		all = data.NumbersView(all, 1, o.numbers)
	}
	if o.clients == nil && cfg.Partition == "" {
		there := "column of clients, named " + strings.Join(clientNames, ", ") + ": add one"
		if o.paths != nil {
			there = "folders of clients, each with its classes: make them"
		}
		return nil, nil, fmt.Errorf("%s has no %s, or have the samples dealt, such as with data.partition = %q", cfg.Path, there,
			deal.WayIID)
	}
	return o.fed, ownsets.ByClient(o.fed, all, o.clients, o.first), nil
}

// unused notes columns that nothing is made of.
func (o *own) unused() {
	names, way := []string(nil), ""
	if o.paths != nil {
		return
	}
	for _, c := range o.files[0].Columns {
		if name := c.Path[0]; !o.used[name] && !strings.HasPrefix(name, "__index_level_") { // of pandas
			names, o.used[name] = append(names, name), true
		}
	}
	if slices.ContainsFunc(names, func(name string) bool { return ownsets.Splits(name, nil) }) {
		way = "; test samples come from files whose names have the word test"
	}
	if names != nil {
		o.fed.Notes = append(o.fed.Notes, "columns that nothing is made of: "+oneline.Names(names)+way)
	}
}

// open opens all files and reads the labels and the clients.
func (o *own) open(ctx context.Context) error {
	train, test, notes, err := ownsets.Find(o.cfg.Path, ".parquet")
	if err != nil {
		return err
	}
	o.fed.Notes, o.train = notes, len(train)
	rows := int64(0)
	for i, path := range slices.Concat(train, test) {
		f, err := parquet.Open(path)
		if err != nil {
			return ownsets.Instead(path, "Parquet", err)
		}
		o.files = append(o.files, f)
		rows += f.Rows
		if i < o.train {
			o.first = int(rows)
		}
	}
	if rows < 1 || rows > math.MaxInt32 {
		return fmt.Errorf("%s: %d samples; there must be from 1 to %d", o.cfg.Path, rows, math.MaxInt32)
	}
	return cmp.Or(o.readLabels(ctx), o.readClients(ctx))
}

// readLabels reads the labels of all samples.
func (o *own) readLabels(ctx context.Context) error {
	var names []string
	var named string // the column
	kind := parquet.Kind(-1)
	for _, f := range o.files {
		leaf, err := must(f, "labels", labelNames)
		if err != nil {
			return err
		}
		now := leaf.Kind
		named = leaf.Path[0]
		o.used[named] = true
		switch {
		case leaf.Scale != 1 || leaf.Decimal && now != parquet.Int32 && now != parquet.Int64: // and times
			now = parquet.Double
		case now == parquet.Int64: // as good as those of 32 bits
			now = parquet.Int32
		}
		if kind >= 0 && now != kind {
			return fmt.Errorf("%s: column %s is of type %v, that of %s of type %v", f.Path, leaf.Path[0], now, o.files[0].Path, kind)
		}
		kind = now
		err = f.Each(ctx, leaf, func(row int, v parquet.Value) error {
			label := v.Int // 0 of others
			_, number, err := leaf.Cell(v)
			if err != nil {
				return fmt.Errorf("the label of row %d: %w", row, err)
			}
			switch kind {
			case parquet.Boolean, parquet.Int32:
			case parquet.ByteArray:
				if err := f.Budget.Take(textSize + int64(len(v.Bytes))); err != nil {
					return fmt.Errorf("the labels up to row %d: %w", row, err)
				}
				names = append(names, string(v.Bytes))
			case parquet.Float, parquet.Double:
				x := float32(number)
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					return fmt.Errorf("row %d is %v, must be a finite number; leave such rows out: %s", row, x, ownsets.Keep("frame."+leaf.Path[0], "numpy.isfinite(%s)"))
				}
				o.numbers = append(o.numbers, x)
			default:
				return fmt.Errorf("type %v, must be integers, names or floats", kind)
			}
			if max(label, -label) >= data.MaxOwnClasses {
				return fmt.Errorf("row %d is %d, must be a class from 0 to %d; save frame.%s.astype(\"float32\") if it is a "+
					"number to predict, frame.%[4]s.astype(str) if it is the name of a class", row, label, data.MaxOwnClasses-1,
					leaf.Path[0])
			}
			o.labels = append(o.labels, int32(label))
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(o.labels) == 0 {
		return nil
	}
	if o.numbers != nil {
		o.fed.Notes = append(o.fed.Notes, ownsets.Numbers("the column of labels", o.numbers, 1)...)
		return nil
	}
	var err error
	if o.labels, err = ownsets.Label(o.fed, "frame."+named, names, o.labels, o.first); err != nil {
		return fmt.Errorf("%s: column of labels: %w", o.cfg.Path, err)
	}
	return nil
}

// readClients reads who each sample is of, if the files say it; test files may leave
// it out.
func (o *own) readClients(ctx context.Context) error {
	without := false // the test files
	for i, f := range o.files {
		leaf, err := column(f, clientNames)
		if err != nil {
			return err
		}
		if i == o.train {
			without = o.clients != nil && leaf == nil
		}
		if (leaf != nil) != (o.clients != nil && (i < o.train || !without)) && i > 0 {
			return fmt.Errorf("%s and %s: one has a column of clients, the other has none", o.files[0].Path, f.Path)
		}
		if leaf == nil {
			continue
		}
		o.used[leaf.Path[0]] = true
		exact := float64(ownsets.Exact)
		if leaf.Kind == parquet.Float {
			exact = ownsets.Exact32
		}
		err = f.Each(ctx, leaf, func(row int, v parquet.Value) error {
			if err := f.Budget.Take(textSize + int64(len(v.Bytes))); err != nil {
				return fmt.Errorf("the clients up to row %d: %w", row, err)
			}
			id, x, err := leaf.Cell(v)
			switch {
			case err != nil:
				return fmt.Errorf("the client of row %d: %w", row, err)
			case leaf.Kind == parquet.ByteArray:
				o.clients = append(o.clients, id)
				return ownsets.Missing("the client of row", row, id)
			case id == "" && x != x:
				return fmt.Errorf("the client of row %d is missing; leave such rows out: %s", row, ownsets.Keep("frame."+leaf.Path[0], "%s.notna()"))
			case id == "":
				id, err = ownsets.Whole("frame."+leaf.Path[0], x, exact)
			}
			o.clients = append(o.clients, id)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
