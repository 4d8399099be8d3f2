package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// TableView returns examples that the caller holds, each of which has a number in each of the columns. It keeps
// all slices, which must not change.
func TableView(columns [][]float32, labels []int32) View {
	for _, column := range columns {
		if len(column) != len(labels) {
			panic("data: TableView has not one number a label")
		}
	}
	return span(&tableRows{columns, labels}, 0, len(labels))
}

// tableRows holds examples column by column.
type tableRows struct {
	columns [][]float32
	labels  []int32
}

func (s *tableRows) size() (floats, tokens int) { return len(s.columns), 0 }

func (s *tableRows) label(at int32) int32 { return s.labels[at] }

func (s *tableRows) read(at int32, x []float32, _ []int32, _ *Augment) int32 {
	for i, column := range s.columns {
		x[i] = column[at]
	}
	return s.labels[at]
}

// columnStats are what a client sends of a column of its training samples.
type columnStats struct {
	n, sum, square float64
	counts         []float64 // of the values of a category
	clients        int       // that have values
	medians        []median  // of numbers, with data.impute = "median"
}

// median is the median of a client's numbers, and how many they are.
type median struct{ value, n float64 }

// statsOf returns what is measured of each column in views of one client.
func (c *Config) statsOf(columns []Column, views ...View) []columnStats {
	stats, x, numbers := make([]columnStats, len(columns)), make([]float32, len(columns)), make([][]float64, len(columns))
	for k := range columns {
		stats[k].counts = make([]float64, len(columns[k].Values))
	}
	for _, v := range views {
		for i := range v.n {
			v.src.read(v.at(i), x, nil, nil)
			for k, value := range x {
				s, f := &stats[k], float64(value)
				if f != f {
					continue
				}
				s.n, s.clients = s.n+1, 1
				if columns[k].Values != nil {
					s.counts[int(value)]++
					continue
				}
				s.sum += f
				s.square += float64(f * f) // not fused
				if columns[k].Gaps && c.Impute == ImputeMedian {
					numbers[k] = append(numbers[k], f)
				}
			}
		}
	}
	for k, all := range numbers {
		if slices.Sort(all); len(all) > 0 {
			stats[k].medians = []median{{(all[(len(all)-1)/2] + all[len(all)/2]) / 2, stats[k].n}}
		}
	}
	return stats
}

// join adds what another client sends.
func (s *columnStats) join(o *columnStats) {
	s.n, s.sum, s.square, s.clients = s.n+o.n, s.sum+o.sum, s.square+o.square, s.clients+o.clients
	s.medians = append(s.medians, o.medians...)
	for i, n := range o.counts {
		s.counts[i] += n
	}
}

// median returns the median of the clients' medians, each counted as often as the client has numbers.
func (s *columnStats) median() float64 {
	slices.SortFunc(s.medians, func(a, b median) int { return cmp.Compare(a.value, b.value) })
	below := 0.0
	i := slices.IndexFunc(s.medians, func(m median) bool { below += m.n; return 2*below >= s.n })
	return s.medians[i].value
}

// sends returns the bytes that a client sends of a column: its sums, or its categories with their counts.
func (c *Config) sends(column *Column, s *columnStats) (bytes int) {
	switch {
	case column.Fixed:
	case column.Values != nil:
		for i, n := range s.counts {
			if n > 0 {
				bytes += len(column.Values[i]) + 8
			}
		}
	case c.Normalize == NormalizeGlobal || column.Gaps && c.Impute == ImputeMean && c.Normalize == NormalizeNone:
		bytes = 3 * 8
	}
	if len(s.medians) > 0 {
		bytes += 2 * 8
	}
	return bytes
}

// ColumnInputs says which inputs a column of a table becomes: of a number x one, (x - Mean) / Std, and of a category
// one for each value.
type ColumnInputs struct {
	// Width counts them. With Gap the last one is 1 where there is no value, which then is Fill.
	Width           int
	Gap             bool
	Fill, Mean, Std float32
	// Places tells which of its inputs the values of a category have, -1 for one for which none stands; nil is a number.
	Places []int32
}

// encoder makes inputs of a sample's columns: a category becomes an input for each value, 1 or 0.
type encoder struct {
	columns []ColumnInputs
	width   int
}

// expand makes inputs of the columns at the end of x.
func (e *encoder) expand(x []float32) {
	raw := x[len(x)-len(e.columns):]
	for i := range e.columns {
		c, value := &e.columns[i], raw[i]
		inputs := x[:c.Width]
		x = x[c.Width:] // no further than raw[i+1:], since each column has an input
		clear(inputs)
		missing := value != value
		if missing && c.Gap {
			inputs[c.Width-1] = 1
		}
		if missing {
			value = c.Fill
		}
		if c.Places == nil {
			inputs[0] = (value - c.Mean) / c.Std
		} else if !missing && c.Places[int(value)] >= 0 {
			inputs[c.Places[int(value)]] = 1
		}
	}
}

// encodedSource has the inputs of another source's columns.
type encodedSource struct {
	source
	by *encoder
}

func (s *encodedSource) size() (floats, tokens int) { return s.by.width, 0 }

func (s *encodedSource) read(at int32, x []float32, _ []int32, _ *Augment) int32 {
	label := s.source.read(at, x[s.by.width-len(s.by.columns):s.by.width], nil, nil)
	s.by.expand(x[:s.by.width])
	return label
}

// apply has views read inputs. made has the sources made so far by those that they replace.
func (e *encoder) apply(made map[source]source, views ...*View) {
	replace(func(src source) source { return withTargets(&encodedSource{src, e}, src) }, made, views)
}

// categories returns the places of a category's values, how many inputs they are, and how many values are put
// together: those below Rare in the training samples.
func (c *Config) categories(column *Column, s *columnStats) (places []int32, width, rare int) {
	places = make([]int32, len(column.Values))
	for i, n := range s.counts {
		if places[i] = -1; n >= float64(c.Rare) || column.Fixed {
			places[i] = int32(width)
			width++
		} else if n > 0 {
			rare++
		}
	}
	if rare == 0 && width > 0 {
		return places, width, 0
	}
	for i, p := range places {
		if p < 0 {
			places[i] = int32(width)
		}
	}
	return places, width + 1, rare
}

// encoder returns the encoder by what was measured of all clients, and of the one whose samples it is for,
// which is the same unless Normalize is "client".
func (c *Config) encoder(columns []Column, all, own []columnStats) *encoder {
	e := &encoder{columns: make([]ColumnInputs, len(columns))}
	for i := range columns {
		column, s, to := &columns[i], &own[i], &e.columns[i]
		to.Gap, to.Std, to.Width = column.Gaps, 1, 1
		mean := s.sum / max(1, s.n)
		std := math.Sqrt(max(0, s.square/max(1, s.n)-float64(mean*mean)))
		to.Fill = float32(mean)
		switch {
		case column.Values != nil:
			to.Places, to.Width, _ = c.categories(column, &all[i])
		case column.Fixed:
			to.Fill, to.Mean, to.Std = float32(column.Mean), float32(column.Mean), float32(column.Std)
		case c.Normalize != NormalizeNone:
			if to.Mean, to.Std = float32(mean), float32(std); std <= 0x1p-23*math.Abs(mean) { // the last bit of a float32
				to.Std = float32(math.Inf(1)) // as good as constant: 0, also where a test sample differs
			}
		}
		if fill, err := strconv.ParseFloat(c.Impute, 32); err == nil {
			to.Fill = float32(fill)
		} else if len(s.medians) > 0 {
			to.Fill = float32(s.median())
		}
		if to.Gap {
			to.Width++
		}
		e.width += to.Width
	}
	return e
}

// encode makes inputs of the columns of a table by what is measured of the training samples.
func (c *Config) encode(fed *Federation) error {
	all, tested := c.statsOf(fed.Columns), c.statsOf(fed.Columns, fed.Test)
	samples := float64(fed.Test.Len())
	for i := range fed.Clients {
		client, size := &fed.Clients[i], 0
		own, rest := c.statsOf(fed.Columns, client.Train), c.statsOf(fed.Columns, client.Val, client.Test)
		n := float64(client.Train.Len() + client.Val.Len() + client.Test.Len())
		samples += n
		for k := range fed.Columns {
			fed.Columns[k].Missing.add(1-(own[k].n+rest[k].n)/n, i == 0)
			all[k].join(&own[k])
			tested[k].join(&rest[k])
			size += c.sends(&fed.Columns[k], &own[k])
		}
		fed.Sent = max(fed.Sent, size)
	}
	for k := range fed.Columns {
		fed.Columns[k].Missing.Name, fed.Columns[k].Missing.All = fed.Columns[k].Name, 1-(all[k].n+tested[k].n)/samples
	}
	e, made := c.encoder(fed.Columns, all, all), map[source]source{}
	fed.C = e.width
	c.told(fed, all, tested)
	if c.Normalize == NormalizeClient {
		return c.each(fed, func(client *Client) {
			own := c.encoder(fed.Columns, all, c.statsOf(fed.Columns, client.Train))
			own.apply(map[source]source{}, &client.Train, &client.Val, &client.Test)
		})
	}
	fed.Inputs = e.columns
	fed.apply(func(views ...*View) { e.apply(made, views...) })
	return nil
}

// told adds notes on what was measured and what is odd about it.
func (c *Config) told(fed *Federation, all, tested []columnStats) {
	var lacking, together, unseen []string
	for i := range fed.Columns {
		column, s := &fed.Columns[i], &all[i]
		if s.clients < len(fed.Clients) {
			lacking = append(lacking, fmt.Sprintf("%s (%d)", column.Name, len(fed.Clients)-s.clients))
		}
		if _, _, rare := c.categories(column, s); rare > 0 {
			together = append(together, fmt.Sprintf("%s (%d)", column.Name, rare))
		}
		for k, n := range tested[i].counts {
			if n > 0 && s.counts[k] == 0 {
				unseen = append(unseen, column.Name+" = "+column.Values[k])
			}
		}
	}
	note := fmt.Sprintf("%d columns are %d inputs (data.normalize = %q)", len(fed.Columns), fed.C, c.Normalize)
	if fed.Sent > 0 {
		note += fmt.Sprintf("; for them each client sends at most %d bytes of sums and categories, once", fed.Sent)
	}
	fed.Notes = append(fed.Notes, note)
	for _, of := range []struct {
		text  string
		names []string
	}{
		{"columns without a value in the training samples of some clients (how many): ", lacking},
		{"categories of too few training samples (data.rare), which are one input (how many): ", together},
		{"categories that only validation or test samples have: ", unseen},
	} {
		if len(of.names) > 0 {
			fed.Notes = append(fed.Notes, of.text+strings.ReplaceAll(oneline.Names(of.names), `"`, ""))
		}
	}
}
