// Package cluster trains the trials of one study on many machines and produces the
// same bits as a single process.
//
// A Coordinator is a study's Trainer. The study keeps its tuners, its record and the
// choice of the best model; instead of training a round itself it leases the trial to
// a worker. Workers (Work) may join and leave at any time. A worker asks for an order,
// carries it out, and reports the outcome with its next request: one request per
// round. A round's record is returned as the row that goes into the study's journal.
// Weights are transferred only as blobs named by their SHA-256: at rungs, with
// snapshots, and when a model may be the best. study.db is the only source of truth: a
// cluster has no persistent state of its own. A trial whose worker is lost is taken
// over in the same way as a study is resumed: from the newest snapshot, comparing the
// recorded rounds.
//
// Where it pays, a round is shared (Rounds): the coordinator then runs the trial
// itself, as the study's Sharer. Workers train groups of its cohort and evaluate its
// models in tasks that any worker can do, each under its own lease.
//
// The transport is NATS, with a server embedded in the coordinator. JetStream holds
// the blobs in transit, in memory, and nothing else. In particular there is no work
// queue: only the coordinator decides whether a lease is valid, and a second record of
// who has which trial could only disagree with it. Leases are numbered across all
// processes of a study, and each is recorded durably before it is granted; a message
// under an old lease is compared and dropped. Each coordinator creates new keys and
// certificates, so the join file is the only secret. On an external server all
// messages are encrypted. All of this is in internal/wire, and a worker in
// internal/worker.
//
// Nothing that depends on machines or on the clock reaches a result. A round at which
// several workers in a row are lost therefore does not fail its trial, which the tuner
// would see: it ends the study, which can be resumed. For the same reason neither
// metrics nor round records name workers; the journal's "worker" and "lease" rows do.
//
// What a worker reports is checked: weights by the digest that came with the round, results
// that are trained twice against each other. The coordinator's own process decides who was
// wrong, and dismisses that worker.
//
// README.md describes the threat model.
package cluster
