package leaf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// decoder reads one file.
type decoder struct {
	*scanner
	take  func(bytes int64) error // of the file's budget
	path  string
	form  Form
	names []string
	users map[string]*User
	seen  []string // users in the order of their data
	space []byte   // for the pixels of one user, if Form.Keep moves them elsewhere
}

// file reads the whole text.
func (d *decoder) file(ctx context.Context) error {
	seen := map[string]bool{}
	err := d.object(func(key string) error {
		if seen[key] {
			return d.wrong("key %s is there twice", oneline.Name(key))
		}
		seen[key] = true
		switch key {
		case "users":
			return d.list(func() error {
				name, err := d.str()
				if err == nil {
					err = d.room(int64(len(name))+textSize, "the list of users")
				}
				d.names = append(d.names, name)
				return err
			})
		case "user_data":
			return d.object(func(name string) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				if d.users[name] != nil {
					return d.about(name, "is in the file twice")
				}
				if err := d.room(int64(len(name))+userSize, "the users"); err != nil {
					return err
				}
				u, err := d.user(name)
				d.users[name] = u
				d.seen = append(d.seen, name)
				return err
			})
		}
		return d.skip()
	})
	if err != nil {
		return err
	}
	switch _, err := d.ReadToken(); { // to the end, where gzip's checksum is
	case err == nil:
		return d.wrong("more text after the end of the JSON object")
	case errors.Is(err, io.EOF):
		return nil
	default:
		return d.explain(err)
	}
}

// What a text and a user take in addition to their letters and samples.
const (
	textSize = 16
	userSize = 400
)

// room returns an error that names the file if there is no room for bytes more.
func (d *decoder) room(bytes int64, what string) error {
	if err := d.take(bytes); err != nil {
		return fmt.Errorf("%s: %s: %w", d.path, what, err)
	}
	return nil
}

// about returns an error that names the file and a user.
func (d *decoder) about(user, format string, args ...any) error {
	return fmt.Errorf("%s: user %.64q: %s", d.path, user, fmt.Sprintf(format, args...))
}

// ordered checks the users against the file's list and returns them. It does not
// look at num_samples: for text, LEAF writes there the counts before it drops the
// windows that overlap two splits.
func (d *decoder) ordered() ([]User, error) {
	if len(d.names) == 0 {
		return nil, fmt.Errorf("%s: no list \"users\" in it, or an empty one: not a LEAF file", d.path)
	}
	users := make([]User, 0, len(d.names))
	for _, name := range d.names {
		u := d.users[name]
		if u == nil {
			return nil, d.about(name, "is listed, but has no data, or is listed twice")
		}
		users = append(users, *u)
		delete(d.users, name)
	}
	for _, name := range d.seen {
		if d.users[name] != nil {
			return nil, d.about(name, "has data, but is not listed in users")
		}
	}
	return users, nil
}

// user reads {x: [...], y: [...]}.
func (d *decoder) user(name string) (*User, error) {
	u := &User{ID: name, File: d.path, Pixels: d.space[:0]}
	d.name = fmt.Sprintf("%s: user %.64q", d.path, name)
	defer func() { d.name = d.path }()
	samples := 0
	var texts, next []rune
	seen := map[string]bool{}
	err := d.object(func(key string) error {
		if seen[key] {
			return d.about(name, "has %s twice", oneline.Name(key))
		}
		seen[key] = true
		switch {
		case key == "x" && d.form.Pixels > 0:
			return d.list(func() error {
				samples++
				return d.image(u, samples)
			})
		case key == "x" && d.form.Lines:
			return d.list(func() error {
				samples++
				return d.line(u, samples)
			})
		case key == "x":
			return d.list(func() error {
				samples++
				var err error
				texts, err = d.characters(u, texts, d.form.SeqLen, samples, "x")
				return err
			})
		case key == "y" && (d.form.Pixels > 0 || d.form.Lines):
			return d.list(func() error { return d.class(u) })
		case key == "y":
			return d.list(func() error {
				var err error
				next, err = d.characters(u, next, 1, len(next)+1, "y")
				return err
			})
		}
		return d.skip()
	})
	if err != nil {
		return nil, err
	}
	if labels := len(u.Labels) + len(next); labels != samples {
		return nil, d.about(name, "x has %d samples, y has %d", samples, labels)
	}
	u.thread(texts, next, d.form.SeqLen)
	if d.form.Keep != nil && u.Values == nil {
		d.space, u.Pixels = u.Pixels, d.form.Keep(u.Pixels)
	}
	u.Pixels, u.Values, u.Labels = slices.Clip(u.Pixels), slices.Clip(u.Values), slices.Clip(u.Labels)
	return u, nil
}

// image reads the numbers of sample n (from 1).
func (d *decoder) image(u *User, n int) error {
	if err := memory.Check(int64(d.form.Pixels)); err != nil {
		return d.about(u.ID, "sample %d and those before: %v", n, err)
	}
	if d.peek() == '"' {
		return d.about(u.ID, "x of sample %d is a text, must be a list of pixels; is this a text set?", n)
	}
	count := 0
	err := d.numbers(func(v float64) error {
		count++
		if math.IsInf(float64(float32(v)), 0) {
			return d.about(u.ID, "pixel %d of sample %d is %g, must be a number that 32 bits hold", count, n, v)
		}
		if count <= d.form.Pixels {
			u.pixel(v)
		}
		return nil
	})
	if err == nil && count != d.form.Pixels {
		err = d.about(u.ID, "sample %d has %d pixels, must be %d", n, count, d.form.Pixels)
	}
	return err
}

// line reads the text of sample n (from 1).
func (d *decoder) line(u *User, n int) error {
	found := false
	take := func() error {
		if kind := d.peek(); kind != '"' && kind > 0 {
			return d.about(u.ID, "x of sample %d must be a text", n)
		}
		text, err := d.str()
		if err == nil {
			err = d.room(int64(len(text))+textSize, "the texts")
		}
		u.Lines, found = append(u.Lines, text), true
		return err
	}
	if d.peek() != '[' {
		return take()
	}
	at := 0
	err := d.list(func() error {
		at++
		if at-1 == d.form.Field {
			return take()
		}
		return d.skip()
	})
	if err == nil && !found {
		err = d.about(u.ID, "x of sample %d has %d fields, must have at least %d, of which the last is read", n, at, d.form.Field+1)
	}
	return err
}

// pixel appends one value: as a byte while all values are whole parts of 255.
func (u *User) pixel(v float64) {
	value := float32(v)
	if u.Values == nil {
		if k := math.Floor(v*255 + 0.5); k >= 0 && k <= 255 && float32(k/255) == value {
			u.Pixels = append(u.Pixels, byte(k))
			return
		}
		u.Values = make([]float32, len(u.Pixels), 2*len(u.Pixels)+1)
		for i, k := range u.Pixels {
			u.Values[i] = float32(float64(k) / 255)
		}
		u.Pixels = nil
	}
	u.Values = append(u.Values, value)
}

// class reads a label.
func (d *decoder) class(u *User) error {
	v, err := d.number()
	if err != nil {
		return err
	}
	if v != math.Trunc(v) || v < 0 || v >= float64(d.form.Classes) {
		return d.about(u.ID, "sample %d has label %v, must be an integer in [0, %d)", len(u.Labels)+1, v, d.form.Classes)
	}
	u.Labels = append(u.Labels, int32(v))
	return nil
}

// characters appends a string of want characters to text.
func (d *decoder) characters(u *User, text []rune, want, sample int, key string) ([]rune, error) {
	if err := memory.Check(4 * int64(want)); err != nil {
		return text, d.about(u.ID, "sample %d and those before: %v", sample, err)
	}
	if d.peek() == '[' {
		return text, d.about(u.ID, "%s of sample %d is a list, must be a text; is this an image set?", key, sample)
	}
	s, err := d.str()
	if err != nil {
		return text, err
	}
	if n := utf8.RuneCountInString(s); n != want {
		return text, d.about(u.ID, "%s of sample %d has %d characters, must have %d", key, sample, n, want)
	}
	return append(text, []rune(s)...), nil
}

// thread puts the samples' texts, seq characters each, and the character after
// each, on one string in which samples that continue one another overlap.
func (u *User) thread(texts, next []rune, seq int) {
	for i, y := range next {
		x := texts[i*seq : (i+1)*seq]
		if from := len(u.Text) - seq; from < 0 || !slices.Equal(u.Text[from:], x) {
			u.Text = append(u.Text, x...)
		}
		u.Starts = append(u.Starts, int32(len(u.Text)-seq))
		u.Text = append(u.Text, y)
	}
	u.Text, u.Starts = slices.Clip(u.Text), slices.Clip(u.Starts)
}
