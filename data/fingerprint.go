package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"math"
)

const (
	// fingerprintExamples bounds how many examples' contents a fingerprint is of.
	fingerprintExamples = 2048
	// fingerprintBytes are kept of the hash.
	fingerprintBytes = 8
)

// fingerprint returns what Federation.Fingerprint says of the samples of writers.
// Those of a lazy set are not read: its many clients and their sizes tell it
// from another one.
func fingerprint(writers []Examples, lazy bool) (string, error) {
	h := hasher{sum: sha256.New()}
	all := 0
	for i := range writers {
		w := &writers[i]
		h.text(w.Client)
		h.numbers(uint32(w.Train.Len()), uint32(w.Test.Len()))
		all += w.Train.Len() + w.Test.Len()
	}
	if !lazy {
		every := max(1, (all+fingerprintExamples-1)/fingerprintExamples)
		next := 0 // before the view's first example when it is negative
		for i := range writers {
			for _, v := range []View{writers[i].Train, writers[i].Test} {
				for ; next < v.Len(); next += every {
					if err := h.example(v, int32(next)); err != nil {
						return "", err
					}
				}
				next -= v.Len()
			}
		}
	}
	return hex.EncodeToString(h.sum.Sum(nil)[:fingerprintBytes]), nil
}

// hasher hashes numbers and examples.
type hasher struct {
	sum            hash.Hash
	x              []float32
	tokens, labels []int32
	bytes          []byte
}

// text adds a text, so that no two lists of texts are alike.
func (h *hasher) text(s string) {
	h.numbers(uint32(len(s)))
	_, _ = io.WriteString(h.sum, s) // a hash never returns an error
}

func (h *hasher) numbers(ns ...uint32) {
	h.bytes = h.bytes[:0]
	for _, n := range ns {
		h.bytes = binary.LittleEndian.AppendUint32(h.bytes, n)
	}
	_, _ = h.sum.Write(h.bytes)
}

// example adds the contents of a view's example.
func (h *hasher) example(v View, at int32) error {
	floats, ids := v.src.size()
	if h.x == nil {
		h.x, h.tokens, h.labels = make([]float32, floats), make([]int32, ids), make([]int32, max(1, ids))
	}
	if err := v.Fill([]int32{at}, h.x, h.tokens, h.labels, nil); err != nil {
		return err
	}
	h.bytes = h.bytes[:0]
	for _, x := range h.x {
		h.bytes = binary.LittleEndian.AppendUint32(h.bytes, math.Float32bits(x))
	}
	for _, list := range [][]int32{h.tokens, h.labels} {
		for _, n := range list {
			h.bytes = binary.LittleEndian.AppendUint32(h.bytes, uint32(n))
		}
	}
	if src, ok := v.src.(targetSource); ok {
		_, n := src.kind()
		targets := make([]float32, n)
		src.targets(v.at(int(at)), targets)
		for _, x := range targets {
			h.bytes = binary.LittleEndian.AppendUint32(h.bytes, math.Float32bits(x))
		}
	}
	_, _ = h.sum.Write(h.bytes)
	return nil
}
