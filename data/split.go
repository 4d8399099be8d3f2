package data

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/draw"
)

// shares are the parts of a split. With files the test part is what the files
// call test, and test is 0.
type shares struct {
	train, val, test int
	files            bool
}

// parseSplit reads Config.Split.
func parseSplit(text string) (shares, error) {
	bad := fmt.Errorf("data.split = %q: must be three integers such as %q, or \"files\", or two such as \"90/10/files\"; train above 0", text, defaultSplit)
	if text == "files" {
		return shares{train: 90, val: 10, files: true}, nil
	}
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return shares{}, bad
	}
	var n [3]int
	s := shares{files: parts[2] == "files"}
	for i, p := range parts {
		if i == 2 && s.files {
			break
		}
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 || v > 1000 {
			return shares{}, bad
		}
		n[i] = v
	}
	s.train, s.val, s.test = n[0], n[1], n[2]
	if s.train == 0 {
		return shares{}, bad
	}
	return s, nil
}

// chooseSplit chooses how the examples of a set with OwnTest are split, if Split
// does not say it.
func (c *Config) chooseSplit(fed *Federation, examples []Examples) {
	if c.Split != "" {
		return
	}
	c.Split = defaultSplit
	if fed.Test.Len() > 0 || slices.ContainsFunc(examples, func(e Examples) bool { return e.Test.Len() > 0 }) {
		c.Split = "files"
	}
}

// cuts returns where m samples are cut: training, validation, test examples are
// [0, a), [a, b), [b, m).
func (s shares) cuts(m int) (a, b int) {
	total := s.train + s.val + s.test
	return m * s.train / total, m * (s.train + s.val) / total
}

// split turns the writers into the clients of fed.
func (c *Config) split(fed *Federation, writers []Examples) error {
	parts, err := parseSplit(c.Split)
	if err != nil {
		return err
	}
	switch n := fed.Test.Len(); {
	case n > 0 && !parts.files:
		fed.Test = View{}
		fed.Notes = append(fed.Notes, fmt.Sprintf("the files' test set of %d samples, which are of no client, is left out (data.split = %q)", n, c.Split))
	case n == 0 && parts.files && !slices.ContainsFunc(writers, func(w Examples) bool { return w.Test.Len() > 0 }):
		return fmt.Errorf("data.split = %q: %s has no test samples of its own; use three numbers such as %q", c.Split, c.Name, defaultSplit)
	}
	fed.FilesTest = parts.files
	if !c.dealt() {
		if fed.Proxy, err = c.setApart(writers); err != nil {
			return err
		}
	}
	var left tally
	for _, w := range writers {
		if w.Train.Len() == 0 && w.Test.Len() > 0 {
			left.testOnly++
			left.testOnlySamples += w.Test.Len()
			if c.Unseen {
				fed.Unseen = append(fed.Unseen, Client{ID: w.Client, Test: c.capped(&left, c.ordered(w.Client, w.Test))})
			}
			continue
		}
		if !c.dealt() && c.Clients > 0 && !fed.Synthetic && len(fed.Clients) == c.Clients {
			left.beyond++
			continue
		}
		client, ok := c.cut(parts, w, &left)
		if ok {
			fed.Clients = append(fed.Clients, client)
		}
	}
	if len(fed.Clients) == 0 {
		return errors.New(left.nobody(c))
	}
	if parts.files && left.testOnly > 0 && !c.Unseen && fed.Test.Len() == 0 && !slices.ContainsFunc(fed.Clients, func(cl Client) bool { return cl.Test.Len() > 0 }) {
		return fmt.Errorf("data.split = %q: all %d test samples are of clients without training samples; set data.unseen = "+
			"true, which evaluates such clients, or three numbers such as %q", c.Split, left.testOnlySamples, defaultSplit)
	}
	if err := c.holdOut(fed); err != nil {
		return err
	}
	fed.Notes = append(fed.Notes, left.notes(c, parts)...)
	if c.Augment == AugmentFedEx {
		fed.Notes = append(fed.Notes, fmt.Sprintf("validation images are changed at random, as training images are, so "+
			"scores see them so (data.augment = %q, as FedEx's code); %q leaves them as they are", AugmentFedEx,
			AugmentFedExTrain))
	}
	if parts.files {
		fed.Notes = append(fed.Notes, c.filesNote(fed))
	}
	return nil
}

// filesNote describes how many samples train, validate and test where the files say which
// ones test.
func (c *Config) filesNote(fed *Federation) string {
	train, val, test := 0, 0, fed.Test.Len()
	for i := range fed.Clients {
		train += fed.Clients[i].Train.Len()
		val += fed.Clients[i].Val.Len()
		test += fed.Clients[i].Test.Len()
	}
	of := ""
	if fed.Test.Len() > 0 {
		of = " of no client, on which the global model is measured"
	}
	return fmt.Sprintf("%d samples train and %d validate; the test set is the files' %d test samples%s (data.split = %q)", train, val, test, of, c.Split)
}

// dealt reports whether the configuration deals a set without clients.
func (c *Config) dealt() bool { return c.Partition != "" }

// cut makes a client of a writer; ok is false if it has too few samples.
func (c *Config) cut(parts shares, w Examples, left *tally) (client Client, ok bool) {
	if w.Train.Len()+w.Test.Len() < c.MinSamples {
		left.small++
		left.smallSamples += w.Train.Len() + w.Test.Len()
		return Client{}, false
	}
	client.ID = w.Client
	if parts.files {
		train, test := c.ordered(w.Client, w.Train), w.Test
		if m, all := c.MaxSamples, train.Len()+test.Len(); m > 0 && all > m {
			left.capped++
			left.cappedSamples += all - m
			n := max(1, m*train.Len()/all)
			test = c.ordered(w.Client, test)
			train, test = train.cut(0, n), test.cut(0, m-n)
		}
		a, _ := parts.cuts(train.Len())
		client.Train, client.Val, client.Test = train.cut(0, a), train.cut(a, train.Len()), test
	} else {
		if w.Test.Len() > 0 {
			left.merged++
		}
		all := c.capped(left, c.ordered(w.Client, w.Train.join(w.Test)))
		a, b := parts.cuts(all.Len())
		client.Train, client.Val, client.Test = all.cut(0, a), all.cut(a, b), all.cut(b, all.Len())
	}
	if client.Train.Len() == 0 {
		left.bare++
		left.bareSamples += w.Train.Len() + w.Test.Len()
		return Client{}, false
	}
	client.Train.augment, client.Val.augment = true, c.Augment == AugmentFedEx
	return client, true
}

// ordered returns v in the order in which it is cut: shuffled with IID, by the seed
// and the client alone.
func (c *Config) ordered(id string, v View) View {
	if c.IID == nil || !*c.IID || v.Len() < 2 {
		return v
	}
	places := v.places()
	draw.New(c.Seed, draw.Order, draw.Text(id)).Shuffle(places)
	return chosen(v.src, places)
}

// capped returns the first MaxSamples examples of v.
func (c *Config) capped(left *tally, v View) View {
	if m := c.MaxSamples; m > 0 && v.Len() > m {
		left.capped++
		left.cappedSamples += v.Len() - m
		v = v.cut(0, m)
		v.index = slices.Clone(v.index) // not to hold the places that are cut off
		return v
	}
	return v
}

// holdOut moves Config.UnseenClients of fed's clients, drawn by the seed, to its unseen ones.
func (c *Config) holdOut(fed *Federation) error {
	if c.UnseenClients == 0 {
		return nil
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("data.unseen_clients = %v: "+format, append([]any{c.UnseenClients}, args...)...)
	}
	n, tested := c.UnseenClients, []int32{}
	if n < 1 {
		n = math.Round(n * float64(len(fed.Clients)))
	}
	for i := range fed.Clients {
		if fed.Clients[i].Test.Len() > 0 {
			tested = append(tested, int32(i))
		}
	}
	switch {
	case n != math.Floor(n):
		return bad("must be a number of clients, or below 1 their share")
	case c.Proxy > 0 && !c.dealt():
		return bad("data.proxy sets samples of all clients apart before some are held out; leave one of the two out")
	case fed.Test.Len() > 0:
		return bad("the test set of %s is of no client, and unseen clients need test samples; set data.split to three numbers such as %q", c.Name, defaultSplit)
	case n < 1 || int(n) >= len(fed.Clients):
		return bad("is %.0f of %d clients; at least 1 must be held out, and 1 must train", n, len(fed.Clients))
	case int(n) > len(tested):
		return bad("only %d of %d clients have test samples", len(tested), len(fed.Clients))
	}
	draw.New(c.Seed, draw.HoldOut).Shuffle(tested)
	held := make([]bool, len(fed.Clients))
	for _, i := range tested[:int(n)] {
		held[i] = true
	}
	var kept []Client
	samples := 0
	for i, client := range fed.Clients {
		if !held[i] {
			kept = append(kept, client)
			continue
		}
		fed.Unseen = append(fed.Unseen, client)
		samples += client.Train.Len() + client.Val.Len() + client.Test.Len()
	}
	fed.Notes = append(fed.Notes, fmt.Sprintf("%.0f of %d clients, with %d samples, never train (data.unseen_clients)", n,
		len(fed.Clients), samples))
	fed.Clients = kept
	return nil
}
