package npz

import (
	"fmt"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/sets/own"
)

// targets reads y where it holds no classes: floats to predict, or which labels each
// sample has.
func (o *ownArrays) targets() error {
	y := o.parts[0].y
	o.fed.Classes = 1
	if len(y.Shape) == 2 {
		o.fed.Classes = y.Shape[1]
	}
	o.labels = make([]int32, o.parts[0].n()+o.parts[1].n())
	if y.Kind == 'f' {
		return o.numbers()
	}
	if o.fed.Classes > data.MaxOwnClasses {
		return fmt.Errorf("%s: array %s has the shape %v: there must be at most %d labels", o.path, y.Name, y.Shape, data.MaxOwnClasses)
	}
	return o.tags()
}

// numbers reads floats to predict.
func (o *ownArrays) numbers() error {
	var values []float32
	for _, p := range o.parts {
		if p.y == nil {
			continue
		}
		for k := range o.fed.Classes {
			if err := own.Rounded(own.ToPredict, p.y.Name, p.y.column(k, o.fed.Classes)); err != nil {
				return p.y.errorf("%w", err)
			}
		}
		more, err := p.y.Floats()
		if err != nil {
			return err
		}
		values = append(values, more...)
	}
	n := o.fed.Classes
	o.fed.Notes = append(o.fed.Notes, own.Numbers("the array y", values, n)...)
	o.fed.Target = data.Numbers
	o.aim = func(v data.View) data.View { return data.NumbersView(v, n, values) }
	return nil
}

// tags reads which labels each sample has.
func (o *ownArrays) tags() error {
	n := o.fed.Classes
	starts, tags := []int32{0}, []int32(nil)
	for _, p := range o.parts {
		if p.y == nil {
			continue
		}
		has, err := p.y.Ints(0, 1)
		if err != nil {
			return fmt.Errorf("%w: the columns of a table are labels, which a sample has (1) or not (0); save %s > 0",
				err, p.y.Name)
		}
		for i, x := range has {
			if x == 1 {
				tags = append(tags, int32(i%n))
			}
			if i%n == n-1 {
				starts = append(starts, int32(len(tags)))
			}
		}
	}
	o.fed.Notes = append(o.fed.Notes, own.Tags(starts, tags, n)...)
	o.fed.Target = data.ManyLabels
	o.aim = func(v data.View) data.View { return data.LabelsView(v, n, starts, tags) }
	return nil
}

// aimed returns the view of the samples with their targets.
func (o *ownArrays) aimed(v data.View) data.View {
	if o.aim == nil {
		return v
	}
	return o.aim(v)
}
