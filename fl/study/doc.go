// Package study drives studies: it asks a trial tuner which trials run and how
// far, asks a client tuner for the hyperparameters of each round, runs the
// rounds and keeps the best model.
//
// Nothing here depends on the wall clock or on the number of workers: trials
// whose order cannot matter run in parallel, but their reports, their
// events and the choice of the best follow the order of their numbers.
package study
