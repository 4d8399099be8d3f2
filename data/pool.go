package data

import (
	"fmt"
	"sort"

	"github.com/fedfast/fedfast/internal/deal"
)

// pool is the source of the examples of several views, one after the other. It
// forgets whose they were.
type pool struct {
	views  []View
	starts []int32 // number of the first example of each view
	n      int32
}

// add appends the examples of a view.
func (p *pool) add(v View) {
	if v.Len() > 0 {
		p.views, p.starts = append(p.views, v), append(p.starts, p.n)
		p.n += int32(v.Len())
	}
}

// find returns where example at is.
func (p *pool) find(at int32) (src source, place int32) {
	i := sort.Search(len(p.starts), func(i int) bool { return p.starts[i] > at }) - 1
	return p.views[i].src, p.views[i].at(int(at - p.starts[i]))
}

func (p *pool) size() (floats, tokens int) { return p.views[0].src.size() }

func (p *pool) label(at int32) int32 {
	src, place := p.find(at)
	return src.label(place)
}

func (p *pool) read(at int32, x []float32, tokens []int32, aug *Augment) int32 {
	src, place := p.find(at)
	return src.read(place, x, tokens, aug)
}

// stepPool is a pool of examples with a label at each of their tokens.
type stepPool struct{ pool }

func (p *stepPool) steps(at int32, labels []int32) {
	src, place := p.find(at)
	src.(stepSource).steps(place, labels)
}

// targetPool is a pool of examples with targets that are no class.
type targetPool struct{ pool }

func (p *targetPool) targets(at int32, dst []float32) {
	src, place := p.find(at)
	src.(targetSource).targets(place, dst)
}

func (p *targetPool) kind() (Target, int) { return p.views[0].src.(targetSource).kind() }

// redeal puts the samples of a set's own clients together and deals them anew.
func (c *Config) redeal(fed *Federation, writers []Examples) ([]Examples, error) {
	if fed.Lazy || fed.Kind == Tokens && c.Partition != deal.WayIID {
		return nil, fmt.Errorf("data.partition = %q: the samples of %s have no class labels to deal by; leave data.partition out", c.Partition, c.Name)
	}
	all := &pool{}
	for i := range writers {
		all.add(writers[i].Train)
	}
	train := int(all.n)
	for i := range writers {
		all.add(writers[i].Test)
	}
	if train == 0 {
		return nil, fmt.Errorf("data.partition = %q: no training samples to deal", c.Partition)
	}
	files := fed.Files
	fed.Notes = append(fed.Notes, fmt.Sprintf("the samples of %d clients were put together and dealt anew (data.partition = %q)", len(writers), c.Partition))
	dealt, err := c.deal(fed, all.view(fed), train)
	fed.Files = files
	return dealt, err
}

// view is all of the pool, of a federation's examples.
func (p *pool) view(fed *Federation) View {
	if p.n == 0 {
		return View{}
	}
	var src source = p
	if fed.EveryStep {
		src = &stepPool{*p}
	}
	if fed.Target != OneClass {
		src = &targetPool{*p}
	}
	v := span(src, 0, int(p.n))
	v.augment = p.views[0].augment
	return v
}

// Pooled returns a federation of one client that has the training and the validation examples of all, to train a
// model without federation, and no test examples. The error is of a Lazy one.
func (f *Federation) Pooled() (*Federation, error) {
	if f.Lazy {
		return nil, fmt.Errorf("%s: its samples are read from a file client by client and cannot be pooled", f.Name)
	}
	train, val := &pool{}, &pool{}
	for i := range f.Clients {
		train.add(f.Clients[i].Train)
		val.add(f.Clients[i].Val)
	}
	one := *f
	one.Clients = []Client{{ID: "pooled", Train: train.view(f), Val: val.view(f)}}
	one.Unseen, one.Test, one.Proxy = nil, View{}, View{}
	return &one, nil
}
