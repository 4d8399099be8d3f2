package store

// The kinds of rows in a study's journal.
const (
	KindStudy         = "study"         // what the study is; the first row
	KindMoved         = "moved"         // its configuration with keys changed that change no result, or more rounds
	KindData          = "data"          // the data it began on
	KindPriors        = "priors"        // trials of finished studies that the tuner begins with
	KindPause         = "pause"         // a process stopped at its limit of wall time
	KindSession       = "session"       // a process begins to work on it
	KindSuggest       = "suggest"       // an answer of the trial tuner: decisions
	KindReport        = "report"        // a report to the trial tuner
	KindTrial         = "trial"         // a trial is opened
	KindPlan          = "plan"          // an answer of the client tuner, before its round
	KindRound         = "round"         // what a round measured
	KindRung          = "rung"          // the score at the end of a segment
	KindFail          = "fail"          // why a trial cannot go on
	KindFinalist      = "finalist"      // the score of a model among which the study chooses
	KindLocal         = "local"         // what a point came to with which clients trained by themselves
	KindAlone         = "alone"         // what a baseline without federation came to
	KindClients       = "clients"       // the single clients' errors of the returned model
	KindResult        = "result"        // the end of the study
	KindBaseline      = "baseline"      // a comparison with random search begins, of a study with a result
	KindConfiguration = "configuration" // what a random configuration of it reached
	KindWorker        = "worker"        // a worker elsewhere joined or is gone
	KindLease         = "lease"         // a worker elsewhere trains a trial from here on
	KindAct           = "act"           // a user ended a trial, or the study, here
)
