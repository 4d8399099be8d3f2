// Package study drives studies: it asks a trial tuner which trials run and how
// far, asks a client tuner for the hyperparameters of each round, runs the
// rounds and keeps the best model.
//
// Start here: [Tune] runs a study, [Run] a training without tuning, and [Baseline] compares a study
// with random search; package workdir keeps them in directories. How it works is in
// https://github.com/fedfast/fedfast/blob/main/fl/study/DESIGN.md.
//
// Nothing here depends on the wall clock or on the number of workers: trials
// whose order cannot matter run in parallel, but their reports, their
// events and the choice of the best follow the order of their numbers.
package study
