// Package tuners is what the author of a tuner imports: the interface of a tuner,
// values and search spaces, keyed draws, and Serve, which turns a tuner into a
// program that fedfast starts and asks.
//
// A study has trials. A trial has params, drawn from a search space, and runs
// federated rounds. A rung is a round at which a tuner decides; a slot is a place
// in a round's cohort of clients. A trial tuner (random search, successive halving)
// says which trials run and how far; a client tuner (FedEx) sets, round by round,
// the hyperparameters of the slots. One tuner may be both.
//
// A tuner sees scalars only: scores, probes, steps. Weights and examples never
// reach it.
//
// Tuners keep no generator: every draw comes from [NewDraws], keyed by the seed,
// the trial, the round and a purpose, so that a session that is opened from a
// recorded state goes on exactly as the lost one would have. For the same reason
// anything that decides a result uses the elementary functions of kernels/det
// instead of package math's, whose last bit differs between processors.
package tuners
