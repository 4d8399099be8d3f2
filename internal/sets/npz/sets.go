package npz

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/deal"
	"github.com/fedfast/fedfast/internal/sets/own"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// npzPath tells what data.path of users' own data is.
const npzPath = "a file of numpy.savez(\"own.npz\", x=x, y=y, client=client), with x_test and y_test where there are test samples, and client_test if they are the clients'"

// ownTargets describes what the array y may be.
const ownTargets = "y: n or (n, 1) classes from 0, or their names, n or (n, k) floats to predict, or (n, labels) booleans (or integers 0 and 1) that say which labels each has"

// Sets returns the sets of users' own data: npz-images, npz-vectors and
// npz-tokens.
func Sets() []data.Set {
	set := func(name, doc, input string, kind data.Kind, load func(*ownArrays) (data.View, error)) data.Set {
		return data.Set{SetInfo: data.SetInfo{
			Name: name, Doc: "your own data: " + doc, Kind: kind, Input: input, Clients: "by the array client, else dealt", Samples: "as in the file",
			Path: npzPath, OwnTest: true,
		}, Load: func(_ context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
			return loadNPZ(cfg, load)
		}}
	}
	return []data.Set{
		set("npz-images", "pictures. x: uint8 (k stands for k/255, see also data.image_mean) or floats of shape (n, "+
			"height, width) or (n, height, width, channels); "+ownTargets+"; client: n numbers or texts",
			"as in the file", data.Image, (*ownArrays).images),
		set("npz-vectors", "rows of numbers. x: floats or integers of shape (n, features); "+ownTargets+"; client: n numbers or texts",
			"as in the file", data.Vector, (*ownArrays).vectors),
		set("npz-tokens", "rows of token ids from 0 to 65,535. x: integers of shape (n, length), "+ownTargets+"; without y "+
			"the model learns the next id at every place, and id 0 pads; client: n numbers or texts",
			"as in the file", data.Tokens, (*ownArrays).tokens),
	}
}

// ownPart are the arrays of training or test samples, nil where there are none.
type ownPart struct{ x, y, client *Array }

// n returns the number of samples.
func (p *ownPart) n() int {
	if p.x == nil || len(p.x.Shape) == 0 {
		return 0
	}
	return p.x.Shape[0]
}

// ownArrays are the samples of a file, those for training first.
type ownArrays struct {
	path   string
	parts  [2]ownPart                // train, test
	labels []int32                   // nil without y; 0 where there are targets
	aim    func(data.View) data.View // adds the targets, nil for classes
	fed    *data.Federation
	scaled bool // data.normalize scales vectors
}

func loadNPZ(cfg data.Config, load func(*ownArrays) (data.View, error)) (*data.Federation, []data.Examples, error) {
	scaled := cfg.Normalize == data.NormalizeGlobal || cfg.Normalize == data.NormalizeClient
	o := &ownArrays{path: cfg.Path, fed: &data.Federation{H: 1, W: 1}, scaled: scaled}
	if err := o.read(); err != nil {
		return nil, nil, err
	}
	all, err := load(o)
	if err != nil {
		return nil, nil, err
	}
	dealt := o.parts[0].client == nil
	if dealt && cfg.Partition == "" {
		return nil, nil, fmt.Errorf("%s has no array client: save client=..., the client of each sample, or have the samples dealt, such as with data.partition = %q", o.path, deal.WayIID)
	}
	if dealt && o.labels == nil && cfg.Partition != deal.WayIID {
		return nil, nil, fmt.Errorf("data.partition = %q: without an array y the samples have no class each to be dealt by; use %q", cfg.Partition, deal.WayIID)
	}
	examples, err := o.writers(all)
	return o.fed, examples, err
}

// read reads the arrays and checks that they belong together.
func (o *ownArrays) read() (err error) {
	info, none := os.Stat(o.path)
	if none != nil && strings.ContainsAny(o.path, "*,") || none == nil && info.IsDir() {
		return own.Refused(o.path+": names no file", "all clients in one", "save numpy.savez(\"own.npz\", "+
			"x=numpy.concatenate(xs), y=numpy.concatenate(ys), client=numpy.repeat(range(len(xs)), list(map(len, xs))))")
	}
	f, err := Open(o.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	used := map[string]bool{}
	find := func(names ...string) *Array {
		for _, name := range names {
			if a, readErr := f.Read(name); readErr != nil {
				err = cmp.Or(err, readErr)
			} else if a != nil {
				used[name] = true
				return a
			}
		}
		return nil
	}
	o.parts[0] = ownPart{find("x", "x_train"), find("y", "y_train"), find("client", "client_train")}
	o.parts[1] = ownPart{find("x_test"), find("y_test"), find("client_test")}
	if err != nil {
		return err
	}
	if o.parts[0].x == nil {
		return fmt.Errorf("%s has no array x, but %s; it must be %s", o.path, cmp.Or(oneline.Names(f.Names()), "none at all"), npzPath)
	}
	others := slices.DeleteFunc(f.Names(), func(name string) bool { return used[name] })
	if len(others) > 0 {
		o.fed.Notes = append(o.fed.Notes, "arrays that nothing is made of: "+oneline.Names(others))
	}
	return o.check()
}

// check returns an error unless the arrays belong together.
func (o *ownArrays) check() error {
	train, test := &o.parts[0], &o.parts[1]
	for _, p := range []*ownPart{train, test} {
		for _, a := range []*Array{p.y, p.client} {
			switch {
			case a == nil:
			case p.x == nil:
				return fmt.Errorf("%s: array %s is there without x_test", o.path, a.Name)
			case a == p.client && len(a.Shape) == 2 && a.Shape[1] == 1 && a.Shape[0] == p.n():
			case a == p.y && len(a.Shape) == 2 && len(p.x.Shape) > 0 && a.Shape[0] == p.x.Shape[0] && a.Shape[1] > 0:
			case len(a.Shape) != 1 || len(p.x.Shape) == 0 || a.Shape[0] != p.x.Shape[0]:
				way := ""
				switch n := a.Len(); {
				case len(a.Shape) == 2 && a.Shape[0] == 1 && a.Shape[1] == p.n():
					way = fmt.Sprintf("; save %s.ravel()", a.Name)
				case len(p.x.Shape) > 1 && p.x.Shape[len(p.x.Shape)-1] == n:
					way = fmt.Sprintf("; save numpy.moveaxis(%s, -1, 0) if the samples are last", p.x.Name)
				}
				return fmt.Errorf("%s: array %s has the shape %v, must be one number for each row of %s, whose shape is %v%s", o.path, a.Name, a.Shape, p.x.Name, p.x.Shape, way)
			}
		}
		if p.x != nil && (len(p.x.Shape) < 2 || slices.Contains(p.x.Shape, 0)) {
			return p.x.errorf("%w", p.x.unread())
		}
	}
	if n := int64(train.n()) + int64(test.n()); n > math.MaxInt32 {
		return fmt.Errorf("%s: %d samples, must be at most %d", o.path, n, math.MaxInt32)
	}
	if test.x == nil {
		return nil
	}
	if !slices.Equal(test.x.Shape[1:], train.x.Shape[1:]) || test.x.Type() != train.x.Type() {
		return fmt.Errorf("%s: samples of x_test have the shape %v and the type %s, those of %s %v and %s", o.path, test.x.Shape[1:], test.x.Type(), train.x.Name, train.x.Shape[1:], train.x.Type())
	}
	switch {
	case (train.y == nil) != (test.y == nil):
		return fmt.Errorf("%s: there must be both arrays y and y_test, or none, as there is x_test", o.path)
	case train.client == nil && test.client != nil:
		return fmt.Errorf("%s: array client_test is there without client, the client of each training sample", o.path)
	}
	if y := train.y; y != nil && (!slices.Equal(y.Shape[1:], test.y.Shape[1:]) || (y.Kind == 'f') != (test.y.Kind == 'f')) {
		return fmt.Errorf("%s: array %s has the shape %v and the type %s, %s %v and %s; they must be targets of one kind", o.path, test.y.Name, test.y.Shape, test.y.Type(), y.Name, y.Shape, y.Type())
	}
	return nil
}

// classes reads y and counts the classes.
func (o *ownArrays) classes() error {
	if o.parts[0].y == nil {
		return fmt.Errorf("%s has no array y, the class of each sample", o.path)
	}
	// A column of integers holds classes, as a list does.
	if y := o.parts[0].y; y.Kind == 'f' || len(y.Shape) == 2 && y.Shape[1] > 1 {
		return o.targets()
	}
	var names []string
	for _, p := range o.parts {
		switch {
		case p.y == nil:
		case p.y.Kind == 'U' || p.y.Kind == 'S':
			texts, err := p.y.Texts()
			if err != nil {
				return err
			}
			names = append(names, texts...)
		default:
			labels, err := p.y.Ints(-data.MaxOwnClasses, data.MaxOwnClasses-1)
			if err != nil {
				return fmt.Errorf("%w; save %s.astype(\"float32\") if they are numbers to predict, %[2]s.astype(str) if they are names of classes", err, p.y.Name)
			}
			o.labels = append(o.labels, labels...)
		}
	}
	if names != nil && o.labels != nil {
		return fmt.Errorf("%s: one of the arrays y and y_test has texts, the other numbers", o.path)
	}
	var err error
	if o.labels, err = own.Label(o.fed, o.parts[0].y.Name, names, o.labels, o.parts[0].n()); err != nil {
		return fmt.Errorf("%s: array %s: %w", o.path, o.parts[0].y.Name, err)
	}
	return nil
}

// labelled returns an error unless the array of samples has from least to most
// dimensions and y holds their classes.
func (o *ownArrays) labelled(what string, least, most int) error {
	if err := o.form(what, least, most); err != nil {
		return err
	}
	return o.classes()
}

// form returns an error unless the array of samples has from least to most dimensions.
func (o *ownArrays) form(what string, least, most int) error {
	x := o.parts[0].x
	if n := len(x.Shape); n < least || n > most {
		return fmt.Errorf("%s: array %s has the shape %v, must be %s", o.path, x.Name, x.Shape, what)
	}
	return nil
}

// images returns pictures.
func (o *ownArrays) images() (data.View, error) {
	const shapes = "(n, height, width) or (n, height, width, channels): save x.reshape(...), or set " +
		"data.name = \"npz-vectors\""
	if err := o.labelled(shapes, 3, 4); err != nil {
		return data.View{}, err
	}
	x, test := o.parts[0].x, o.parts[1].x
	o.fed.H, o.fed.W, o.fed.C = x.Shape[1], x.Shape[2], 1
	if len(x.Shape) == 4 {
		o.fed.C = x.Shape[3]
		note, err := own.ChannelsFirst(x.Name, x.Shape)
		if err != nil {
			return data.View{}, x.errorf("%w", err)
		}
		if note != "" {
			o.fed.Notes = append(o.fed.Notes, note)
		}
	}
	switch x.Kind {
	case 'f':
		return o.rows(o.fed.H * o.fed.W * o.fed.C)
	case 'b':
		return data.View{}, x.errorf("%w", own.Refused("is of type bool", "uint8 or floats", fmt.Sprintf("save %s.astype(\"float32\")", x.Name)))
	}
	if x.Kind != 'u' || x.Size != 1 {
		way := fmt.Sprintf("save %[1]s.astype(\"uint8\") of pixels from 0 to 255, or (%[1]s / %[1]s.max()).astype(\"float32\")", x.Name)
		return data.View{}, x.errorf("%w", own.Refused("is of type "+x.Type()+", must be uint8 or floats", "bytes k for k/255, and floats", way))
	}
	pixels, err := x.Bytes()
	if err != nil {
		return data.View{}, err
	}
	o.fed.Notes = append(o.fed.Notes, own.Pixels(x.Name, true, float32(slices.Min(pixels)), float32(slices.Max(pixels)))...)
	var more []byte
	if test != nil {
		if more, err = test.Bytes(); err != nil {
			return data.View{}, err
		}
		o.alike(float32(slices.Max(pixels)), float32(slices.Max(more)))
	}
	return o.aimed(data.PiecesView(o.fed.H, o.fed.W, o.fed.C, [2][]byte{pixels, more}, o.labels, nil)), nil
}

// vectors returns rows of numbers.
func (o *ownArrays) vectors() (data.View, error) {
	if err := o.labelled("(n, features): save x.reshape(len(x), -1)", 2, 2); err != nil {
		return data.View{}, err
	}
	x := o.parts[0].x
	o.fed.C = x.Shape[1]
	for k := range o.fed.C {
		name := fmt.Sprintf("%s[:, %d]", x.Name, k)
		if err := own.Rounded(name+" has", name, x.column(k, o.fed.C)); err != nil {
			return data.View{}, x.errorf("%w", err)
		}
	}
	return o.rows(o.fed.C)
}

// rows returns the samples of n numbers each.
func (o *ownArrays) rows(n int) (data.View, error) {
	var pieces [2][]float32
	for i, p := range o.parts {
		if p.x == nil {
			continue
		}
		var err error
		if pieces[i], err = p.x.TakeFloats(); err != nil {
			return data.View{}, err
		}
	}
	if least, most := slices.Min(pieces[0]), slices.Max(pieces[0]); o.fed.H*o.fed.W > 1 || least == most {
		o.fed.Notes = append(o.fed.Notes, own.Pixels(o.parts[0].x.Name, false, least, most)...)
	} else if far := max(-least, most); far > 100 && !o.scaled {
		o.fed.Notes = append(o.fed.Notes, fmt.Sprintf("the values of array %s reach %g, where networks expect "+
			"about -1 to 1: set data.normalize = \"global\"", o.parts[0].x.Name, far))
	}
	if test := pieces[1]; test != nil {
		o.alike(max(-slices.Min(pieces[0]), slices.Max(pieces[0])), max(-slices.Min(test), slices.Max(test)))
	}
	return o.aimed(data.VectorPiecesView(n, pieces, o.labels)), nil
}

// alike adds a note where the test samples reach other values than those for training.
func (o *ownArrays) alike(x, y float32) {
	if y > 20*x || x > 20*y && y > 0 {
		o.fed.Notes = append(o.fed.Notes, fmt.Sprintf("the values of array %s reach %g, those of %s %g: scale both alike",
			o.parts[1].x.Name, y, o.parts[0].x.Name, x))
	}
}

// tokens returns rows of token ids.
func (o *ownArrays) tokens() (data.View, error) {
	if err := o.form("(n, length)", 2, 2); err != nil {
		return data.View{}, err
	}
	var rows []uint16
	for _, p := range o.parts {
		if p.x == nil {
			continue
		}
		ids, err := p.x.Ints(0, 1<<16-1)
		if err != nil {
			if p.x.whole() == nil {
				return data.View{}, err
			}
			return data.View{}, fmt.Errorf("%w: ids from 0, which pads; save numpy.unique(%s, return_inverse=True)[1].reshape(%[2]s.shape)", err, p.x.Name)
		}
		for _, id := range ids {
			rows = append(rows, uint16(id))
		}
	}
	o.fed.SeqLen, o.fed.Vocab = o.parts[0].x.Shape[1], int(slices.Max(rows))+1
	if there := len(slices.Compact(slices.Sorted(slices.Values(rows)))); o.fed.Vocab > 200 && there < o.fed.Vocab/2 {
		o.fed.Notes = append(o.fed.Notes, fmt.Sprintf("%d of %d ids occur, but the model has rows for all; save numpy.unique(x, return_inverse=True)[1].reshape(x.shape) for fewer", there, o.fed.Vocab))
	}
	o.padded(rows)
	if y := o.parts[0].y; y != nil {
		err := o.classes()
		if err != nil && slices.Equal(y.Shape, o.parts[0].x.Shape) {
			err = y.errorf("%w", own.Refused(fmt.Sprintf("the shape %v has a label for each id", y.Shape), "one label a row",
				"leave y out, and the model learns the next id at every place"))
		}
		if err != nil {
			return data.View{}, err
		}
		return o.aimed(data.TokenView(o.fed.SeqLen, rows, o.labels)), nil
	}
	if o.fed.SeqLen--; o.fed.SeqLen == 0 {
		return data.View{}, fmt.Errorf("%s: array %s has the shape %v: a row of one id has none after it to learn", o.path, o.parts[0].x.Name, o.parts[0].x.Shape)
	}
	if o.fed.Vocab == 1 {
		o.fed.Notes = append(o.fed.Notes, "all ids are 0, which pads: there is nothing to learn")
	}
	o.fed.Classes, o.fed.EveryStep = o.fed.Vocab, true
	return data.StepView(o.fed.SeqLen, rows), nil
}

// padded adds a note where most rows end with the same id several times, which is not 0.
func (o *ownArrays) padded(rows []uint16) {
	length, counts := o.fed.SeqLen, map[uint16]int{}
	for end := length; length > 1 && end <= len(rows); end += length {
		if id := rows[end-1]; id != 0 && id == rows[end-2] {
			counts[id]++
		}
	}
	for id, n := range counts {
		if n > len(rows)/length/2 {
			o.fed.Notes = append(o.fed.Notes, fmt.Sprintf("%d of %d rows end with id %d several times, but only 0 pads; "+
				"save numpy.where(x == %[3]d, 0, x + 1) if that pads", n, len(rows)/length, id))
		}
	}
}

// writers returns the clients' samples, the clients sorted by their names, or by
// their numbers.
func (o *ownArrays) writers(all data.View) ([]data.Examples, error) {
	var clients []string
	for _, p := range o.parts {
		if p.client == nil {
			continue
		}
		ids, err := p.client.Texts()
		if err != nil {
			return nil, err
		}
		for i, id := range ids {
			if err := own.Missing("value", i, id); err != nil {
				return nil, p.client.errorf("%w", err)
			}
		}
		clients = append(clients, ids...)
	}
	return own.ByClient(o.fed, all, clients, o.parts[0].n()), nil
}
