package result

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// The states of a WorkerRecord.
const (
	WorkerJoined = "joined"
	WorkerLeft   = "left"
	WorkerLost   = "lost"
)

// WorkerRecord is a row about a worker elsewhere: that it joined, with what it is, or
// is gone. No result depends on it.
type WorkerRecord struct {
	Worker  string `json:"worker"`
	State   string `json:"state"`
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	CPU     string `json:"cpu,omitempty"`
	Level   string `json:"level,omitempty"`
	Workers int    `json:"workers,omitempty"`
}

// LeaseRecord records that a worker trains a trial from a round on, until another lease
// of the trial, or that several share its rounds. Leases are numbered over all
// processes of a study.
type LeaseRecord struct {
	Lease  int64  `json:"lease"`
	Worker string `json:"worker,omitempty"`
	// Workers are those that share the rounds, by name.
	Workers []string `json:"workers,omitempty"`
}

// RecordWorker adds a row about a worker to a study's record.
func RecordWorker(s *store.Store, r WorkerRecord) error {
	return replay.New(s).Append(store.KindWorker, tuners.StudySession, 0, r)
}

// RecordLease adds a lease of a trial after the given number of rounds, and makes it
// durable.
func RecordLease(s *store.Store, trial, round int, r LeaseRecord) error {
	return errors.Join(replay.New(s).Append(store.KindLease, trial, round, r), s.Flush())
}

// TrainedBy returns the names of the workers that a recorded round of a trial, from 1 on, is
// from; empty for none.
func TrainedBy(ctx context.Context, s store.Reader, trial, round int) (names string, err error) {
	last := ""
	err = s.Each(ctx, func(r store.Row) error {
		if r.Trial != trial || names != "" {
			return nil
		}
		if r.Kind == store.KindRound {
			if r.Round == round {
				names = last
			}
			return nil
		}
		return record.Into(r, func(rec *LeaseRecord) { last = strings.Join(append(rec.Workers, rec.Worker), " ") })
	}, store.KindLease, store.KindRound)
	return strings.TrimSpace(names), err
}

// ReadWorker reads a row of store.KindWorker.
func ReadWorker(r store.Row) (*WorkerRecord, error) {
	return record.Decode[WorkerRecord](r.Kind, r.Data)
}

// ReadLease reads a row of store.KindLease.
func ReadLease(r store.Row) (*LeaseRecord, error) { return record.Decode[LeaseRecord](r.Kind, r.Data) }

// Leases returns how many workers a study has had, which of them are not recorded as
// gone, and the number of its newest lease.
func Leases(ctx context.Context, s store.Reader) (workers int, here []string, lease int64, err error) {
	err = s.Each(ctx, func(r store.Row) error {
		if r.Kind == store.KindLease {
			return record.Into(r, func(rec *LeaseRecord) { lease = max(lease, rec.Lease) })
		}
		return record.Into(r, func(rec *WorkerRecord) {
			if rec.State == WorkerJoined {
				workers, here = workers+1, append(here, rec.Worker)
			} else {
				here = slices.DeleteFunc(here, func(name string) bool { return name == rec.Worker })
			}
		})
	}, store.KindWorker, store.KindLease)
	return workers, here, lease, err
}
