// Package cluster trains the trials of one study on many machines, with the bits of
// one process.
//
// A Coordinator is a study's Trainer: the study keeps its tuners, its record and the
// choice of the best, and where it would train a round it leases the trial to a
// worker. Workers (Work) join and leave at any time. A worker asks what to do, does
// it, and says what came of it with the next question: one request a round. A round's
// record comes back as the very row of the study's journal. Weights move as blobs
// under their SHA-256 only: at rungs, with snapshots, and where a model may be the
// best. study.db is the only truth: a cluster keeps nothing of its own that lasts, and
// a trial whose worker is gone is taken over as a study is resumed, from the newest
// snapshot and with the recorded rounds compared.
//
// Where it pays, a round is shared (Rounds): the trial is with the coordinator, as a
// study's Sharer, which has workers train groups of its cohort and evaluate its models
// in tasks that any worker can do, each under a lease of its own.
//
// The transport is NATS, with a server in the coordinator. JetStream holds the blobs
// on their way, in memory, and nothing else. In particular it holds no queue of work:
// a lease is valid as long as the coordinator says so, and a second place that knows
// who has which trial could only disagree with it. Leases are numbered, durably
// before they are given, over all processes of a study; what comes under another one
// than the present is compared and dropped. Keys and certificates are made anew by
// each coordinator, so that the join file is all that there is to keep secret. At a
// server of others everything is sealed (scope).
//
// Nothing that depends on machines or on the clock reaches a result. So a round at
// which worker after worker is lost does not fail its trial, of which the tuner would
// be told: it ends the study, which can be resumed. For the same reason neither the
// metrics nor a round's record name workers: the rows "worker" and "lease" of the
// journal do.
//
// README.md says what is protected against whom.
package cluster
