package leaf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner reads JSON values from a stream.
type scanner struct {
	*jsontext.Decoder
	in   *window
	name string // of the file, and the user whose data are read
}

// longest bounds the bytes of a text or of a list of numbers.
const longest = 1 << 24

// window reads a stream up to a place.
type window struct {
	in        io.Reader
	past, end int64
}

// Read implements io.Reader.
func (w *window) Read(b []byte) (int, error) {
	if w.past == w.end {
		return 0, fmt.Errorf("a value of more than %d bytes", longest)
	}
	n, err := w.in.Read(b[:min(int64(len(b)), w.end-w.past)])
	w.past += int64(n)
	return n, err
}

func newScanner(in io.Reader, name string) *scanner {
	w := &window{in: in}
	return &scanner{jsontext.NewDecoder(w, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)), w, name}
}

// wrong returns an error about what follows, or was read last.
func (s *scanner) wrong(format string, args ...any) error {
	return fmt.Errorf("%s: after byte %d: %s", s.name, s.InputOffset(), fmt.Sprintf(format, args...))
}

// explain returns an error that says where what was read is no JSON.
func (s *scanner) explain(err error) error {
	var wrong *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: the JSON text ends early, after %d bytes; is the file complete?", s.name, s.in.past)
	case errors.As(err, &wrong):
		return fmt.Errorf("%s: byte %d: %w", s.name, wrong.ByteOffset+1, wrong.Err)
	}
	return errors.Unwrap(err) // of reading
}

// peek returns the kind of the next token, 0 where there is none.
func (s *scanner) peek() jsontext.Kind {
	s.in.end = s.in.past + longest
	return s.PeekKind()
}

// expect returns an error unless the next token is of a kind.
func (s *scanner) expect(kind jsontext.Kind) error {
	if got := s.peek(); got != kind && got > 0 {
		return s.wrong("%v where %v must be", got, kind)
	}
	return nil
}

// token reads a token, which is valid until the next call.
func (s *scanner) token(kind jsontext.Kind) (jsontext.Token, error) {
	if err := s.expect(kind); err != nil {
		return jsontext.Token{}, err
	}
	t, err := s.ReadToken()
	return t, s.explain(err)
}

// list reads an array, calling item at the start of each element.
func (s *scanner) list(item func() error) error { return s.members('[', ']', item) }

// object reads an object, calling member with each key at the start of its value.
func (s *scanner) object(member func(key string) error) error {
	return s.members('{', '}', func() error {
		key, err := s.str()
		if err != nil {
			return err
		}
		return member(key)
	})
}

// members reads elements up to closing.
func (s *scanner) members(opening, closing jsontext.Kind, item func() error) error {
	_, err := s.token(opening)
	for err == nil && s.peek() != closing {
		err = item()
	}
	if err == nil {
		_, err = s.token(closing)
	}
	return err
}

// str reads a text.
func (s *scanner) str() (string, error) {
	t, err := s.token('"')
	return t.String(), err
}

// value reads a value of a kind, which is valid until the next call.
func (s *scanner) value(kind jsontext.Kind) (jsontext.Value, error) {
	if err := s.expect(kind); err != nil {
		return nil, err
	}
	v, err := s.ReadValue()
	return v, s.explain(err)
}

// number reads a number.
func (s *scanner) number() (v float64, err error) {
	number, err := s.value('0')
	if err == nil {
		err = s.each(number, func(x float64) error { v = x; return nil })
	}
	return v, err
}

// numbers reads a list of numbers, calling each with every one.
func (s *scanner) numbers(each func(v float64) error) error {
	list, err := s.value('[')
	if err != nil {
		return err
	}
	if list = bytes.TrimSpace(list[1 : len(list)-1]); len(list) == 0 {
		return nil
	}
	return s.each(list, each)
}

// powers of ten that a float64 holds exactly.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// each calls with the numbers of a list without its brackets, rounded as
// strconv.ParseFloat does. Up to 15 digits need one division, which rounds once
// (Clinger 1990).
func (s *scanner) each(list []byte, call func(v float64) error) error {
	for i := 0; i < len(list); i++ {
		for list[i] == ' ' {
			i++
		}
		begin, mantissa := i, uint64(0)
		for ; i < len(list) && list[i]-'0' < 10; i++ {
			mantissa = mantissa*10 + uint64(list[i]-'0')
		}
		point := i
		if i < len(list) && list[i] == '.' {
			i++
			for point = i; i < len(list) && list[i]-'0' < 10; i++ {
				mantissa = mantissa*10 + uint64(list[i]-'0')
			}
		}
		var v float64
		if i > begin && i-begin < len(powers) && mantissa < 1<<53 && (i == len(list) || list[i] == ',') {
			v = float64(mantissa) / powers[i-point]
		} else {
			text, _, _ := bytes.Cut(list[begin:], []byte{','})
			i = begin + len(text)
			var err error
			if v, err = strconv.ParseFloat(string(bytes.TrimSpace(text)), 64); err != nil {
				return s.wrong("%.64q is no number that 64 bits hold", text)
			}
		}
		if err := call(v); err != nil {
			return err
		}
	}
	return nil
}

// skip reads a value of any kind.
func (s *scanner) skip() error {
	for depth := s.StackDepth(); ; {
		if _, err := s.token(s.peek()); err != nil || s.StackDepth() <= depth {
			return err
		}
	}
}
