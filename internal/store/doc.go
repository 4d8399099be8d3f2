// Package store keeps a study in a directory, so that it outlives every process
// that works on it.
//
// What happened is a journal: rows that are only ever appended, in one SQLite
// file, each with a checksum over itself and the checksum before it. Opening a
// study for work checks the chain. What follows a damaged row is set aside and
// the study goes on from the newest row before it. The tables that people and
// other programs read are views of the journal. Large arrays stand beside it as
// snapshots, files with a checksum of their own.
//
// The package knows nothing of trials or tuners: what rows and snapshots hold
// is the matter of package study.
package store
