// Package tensorboard writes the curves of trials as files of events, which
// TensorBoard shows as scalars, a run each.
package tensorboard

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fedfast/fedfast/fl/study/view"
)

// The tags of scalars.
const (
	Score     = "score"
	Rung      = "rung"
	TrainLoss = "train_loss"
	TestError = "test_error"
)

// Folder is the folder of a trial's file: the name of its run.
func Folder(t *view.Trial) string { return fmt.Sprintf("trial-%03d", t.Number) }

// File is the name of a trial's file.
func File(t *view.Trial) string {
	return fmt.Sprintf("events.out.tfevents.%010d.fedfast", t.Opened.Unix())
}

// Write writes the rounds of a trial, whose numbers are the steps, and its rungs.
func Write(w io.Writer, t *view.Trial, rounds []view.Round) error {
	if err := record(w, event(t.Opened, 0, func(b []byte) []byte {
		return protowire.AppendString(protowire.AppendTag(b, eventVersion, protowire.BytesType), "brain.Event:2")
	})); err != nil {
		return err
	}
	rungs := map[int]float64{}
	for _, r := range t.Rungs {
		rungs[r.Round] = r.Score
	}
	for i := range rounds {
		r := &rounds[i]
		rung, ok := rungs[r.Round]
		if !ok {
			rung = math.NaN()
		}
		var summary []byte
		for _, s := range []struct {
			tag string
			x   float64
		}{{Score, r.Mean}, {Rung, rung}, {TrainLoss, r.TrainLoss}, {TestError, r.TestError}} {
			if !math.IsNaN(s.x) {
				summary = value(summary, s.tag, s.x)
			}
		}
		if err := record(w, event(r.At, r.Round, func(b []byte) []byte {
			return protowire.AppendBytes(protowire.AppendTag(b, eventSummary, protowire.BytesType), summary)
		})); err != nil {
			return err
		}
	}
	return nil
}

// The fields of TensorFlow's messages Event, Summary and Summary.Value.
const (
	eventTime    = 1
	eventStep    = 2
	eventVersion = 3
	eventSummary = 5

	summaryValue = 1

	valueTag    = 1
	valueSimple = 2
)

// event is a message Event of a moment and a step; what it tells is added by a
// function.
func event(at time.Time, step int, add func([]byte) []byte) []byte {
	b := protowire.AppendTag(nil, eventTime, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, math.Float64bits(float64(at.UnixMilli())/1000))
	b = protowire.AppendTag(b, eventStep, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(step)) //nolint:gosec // rounds are not negative
	return add(b)
}

// value adds a scalar to a message Summary.
func value(summary []byte, tag string, x float64) []byte {
	v := protowire.AppendString(protowire.AppendTag(nil, valueTag, protowire.BytesType), tag)
	v = protowire.AppendFixed32(protowire.AppendTag(v, valueSimple, protowire.Fixed32Type), math.Float32bits(float32(x)))
	return protowire.AppendBytes(protowire.AppendTag(summary, summaryValue, protowire.BytesType), v)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is the checksum of TensorFlow's records.
func masked(b []byte) uint32 {
	sum := crc32.Checksum(b, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// record writes a record as TensorFlow's files have it: its length and that one's
// checksum, its bytes and their checksum.
func record(w io.Writer, data []byte) error {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, masked(b))
	b = append(b, data...)
	_, err := w.Write(binary.LittleEndian.AppendUint32(b, masked(data)))
	return err
}
