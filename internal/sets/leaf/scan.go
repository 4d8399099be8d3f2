package leaf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// scanner reads JSON values from a stream through a window of memory.
type scanner struct {
	in   io.Reader
	name string // of the file, and the user whose data are read
	buf  []byte
	pos  int // next byte of buf
	end  int // bytes in buf
	past int64
	err  error  // of in
	text []byte // scratch for strings
}

const (
	windowSize = 1 << 16
	longest    = 64 // bytes of the longest number
	deepest    = 64 // nesting of a skipped value
)

func newScanner(in io.Reader, name string) *scanner {
	return &scanner{in: in, name: name, buf: make([]byte, windowSize)}
}

// fill makes n bytes available if the stream has as many, n <= windowSize.
func (s *scanner) fill(n int) {
	if s.end-s.pos >= n || s.err != nil {
		return
	}
	s.past += int64(s.pos)
	s.end = copy(s.buf, s.buf[s.pos:s.end])
	s.pos = 0
	for s.end < n && s.err == nil {
		var got int
		got, s.err = s.in.Read(s.buf[s.end:])
		s.end += got
	}
}

// wrong returns an error at the present place; the end of the stream and errors
// of reading it come first.
func (s *scanner) wrong(format string, args ...any) error {
	s.fill(1)
	if s.pos == s.end && s.err != nil {
		if errors.Is(s.err, io.EOF) {
			return fmt.Errorf("%s: the JSON text ends early, after %d bytes; is the file complete?", s.name, s.past+int64(s.end))
		}
		return s.err
	}
	return fmt.Errorf("%s: byte %d: %s", s.name, s.past+int64(s.pos)+1, fmt.Sprintf(format, args...))
}

// ended returns nil if the stream ended as it should, else why it did not.
func (s *scanner) ended() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// peek returns the next byte that is no white space, or 0 at the end.
func (s *scanner) peek() byte {
	for {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; c {
			case ' ', '\n', '\t', '\r':
				s.pos++
			default:
				return c
			}
		}
		if s.fill(1); s.pos == s.end {
			return 0
		}
	}
}

// expect reads the byte c.
func (s *scanner) expect(c byte) error {
	if got := s.peek(); got != c {
		return s.wrong("%q where %q must be", got, c)
	}
	s.pos++
	return nil
}

// list reads an array, calling item at the start of each element.
func (s *scanner) list(item func() error) error {
	if err := s.expect('['); err != nil {
		return err
	}
	return s.members(']', item)
}

// object reads an object, calling member with each key at the start of its value.
func (s *scanner) object(member func(key string) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	return s.members('}', func() error {
		key, err := s.str()
		if err != nil {
			return err
		}
		name := string(key)
		if err := s.expect(':'); err != nil {
			return err
		}
		return member(name)
	})
}

// members reads elements with commas between them up to closing.
func (s *scanner) members(closing byte, item func() error) error {
	if s.peek() == closing {
		s.pos++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch c := s.peek(); c {
		case ',':
			s.pos++
		case closing:
			s.pos++
			return nil
		default:
			return s.wrong("%q where ',' or %q must be", c, closing)
		}
	}
}

// str reads a string; the result is valid until the next call.
func (s *scanner) str() ([]byte, error) {
	if err := s.expect('"'); err != nil {
		return nil, err
	}
	s.text = append(s.text[:0], '"')
	escaped := false
	for {
		rest := s.buf[s.pos:s.end]
		n := bytes.IndexAny(rest, "\"\\")
		if n < 0 {
			s.text = append(s.text, rest...)
			s.pos = s.end
			if s.fill(1); s.pos == s.end {
				return nil, s.wrong("")
			}
			continue
		}
		s.text = append(s.text, rest[:n+1]...)
		s.pos += n + 1
		if rest[n] == '"' {
			break
		}
		escaped = true
		if s.fill(1); s.pos == s.end {
			return nil, s.wrong("")
		}
		s.text = append(s.text, s.buf[s.pos])
		s.pos++
	}
	if !escaped {
		return s.text[1 : len(s.text)-1], nil
	}
	var plain string
	if err := json.Unmarshal(s.text, &plain); err != nil {
		return nil, s.wrong("a string before this place is no JSON string: %v", err)
	}
	return []byte(plain), nil
}

// powers of ten that a float64 holds exactly.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// number reads a number, rounded as strconv.ParseFloat does. Digits of up to 15
// places and few decimals need one division, which rounds once (Clinger 1990).
func (s *scanner) number() (float64, error) {
	s.peek()
	s.fill(longest)
	b := s.buf[s.pos:s.end]
	if len(b) > longest {
		b = b[:longest]
	}
	var mantissa uint64
	i, digits, decimals := 0, 0, 0
	negative := i < len(b) && b[i] == '-'
	if negative {
		i++
	}
	whole := i
	malformed := func(format string, args ...any) error {
		if i == len(b) && i < longest { // it may be a good number that was cut off
			s.pos = s.end
		}
		return s.wrong(format, args...)
	}
	for ; i < len(b) && b[i]-'0' < 10; i++ {
		mantissa = mantissa*10 + uint64(b[i]-'0')
		digits++
	}
	wholeDigits := i - whole
	if wholeDigits == 0 || wholeDigits > 1 && b[whole] == '0' {
		return 0, malformed("no number where a number must be")
	}
	if i < len(b) && b[i] == '.' {
		start := i + 1
		for i = start; i < len(b) && b[i]-'0' < 10; i++ {
			mantissa = mantissa*10 + uint64(b[i]-'0')
			digits++
		}
		if decimals = i - start; decimals == 0 {
			return 0, malformed("a number ends in its period")
		}
	}
	simple := digits <= 19 && mantissa < 1<<53 && decimals < len(powers)
	if i < len(b) && b[i]|0x20 == 'e' {
		simple = false
		for i++; i < len(b) && (b[i]-'0' < 10 || b[i] == '-' || b[i] == '+'); i++ {
		}
	}
	if i == longest {
		return 0, s.wrong("a number of %d signs or more", longest)
	}
	var v float64
	if simple {
		v = float64(mantissa) / powers[decimals]
		if negative {
			v = -v
		}
	} else {
		var err error
		if v, err = strconv.ParseFloat(string(b[:i]), 64); err != nil {
			return 0, malformed("%q is no number that 64 bits hold", b[:i])
		}
	}
	s.pos += i
	return v, nil
}

// skip reads a value of any kind.
func (s *scanner) skip(depth int) error {
	if depth == deepest {
		return s.wrong("values nested more than %d deep", deepest)
	}
	switch c := s.peek(); {
	case c == '"':
		_, err := s.str()
		return err
	case c == '[':
		return s.list(func() error { return s.skip(depth + 1) })
	case c == '{':
		return s.object(func(string) error { return s.skip(depth + 1) })
	case c == '-' || c-'0' < 10:
		_, err := s.number()
		return err
	}
	for _, word := range []string{"true", "false", "null"} {
		s.fill(len(word))
		if bytes.HasPrefix(s.buf[s.pos:s.end], []byte(word)) {
			s.pos += len(word)
			return nil
		}
	}
	return s.wrong("%q where a value must be", s.peek())
}
