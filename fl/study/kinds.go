package study

import (
	"github.com/fedfast/fedfast/fl/study/internal/meter"
	"github.com/fedfast/fedfast/fl/study/internal/record"
)

// The kinds of rows in a study's journal.
const (
	KindStudy         = record.KindStudy         // what the study is; the first row
	KindMoved         = record.KindMoved         // its configuration with keys changed that change no result
	KindData          = record.KindData          // the data it began on
	KindSession       = record.KindSession       // a process begins to work on it
	KindSuggest       = record.KindSuggest       // an answer of the trial tuner: decisions
	KindReport        = record.KindReport        // a report to the trial tuner
	KindTrial         = record.KindTrial         // a trial is opened
	KindPlan          = record.KindPlan          // an answer of the client tuner, before its round
	KindRound         = record.KindRound         // what a round measured
	KindRung          = record.KindRung          // the score at the end of a segment
	KindFail          = record.KindFail          // why a trial cannot go on
	KindFinalist      = record.KindFinalist      // the score of a model among which the study chooses
	KindClients       = record.KindClients       // the single clients' errors of the returned model
	KindResult        = record.KindResult        // the end of the study
	KindBaseline      = record.KindBaseline      // a comparison with random search begins, of a study with a result
	KindConfiguration = record.KindConfiguration // what a random configuration of it reached
	KindWorker        = record.KindWorker        // a worker elsewhere joined or is gone
	KindLease         = record.KindLease         // a worker elsewhere trains a trial from here on
	KindAct           = record.KindAct           // a user ended a trial, or the study, here
)

// AutoShare is the most that the measurements of config.AutoEvery take of the training's
// multiply-adds.
const AutoShare = meter.AutoShare

// AutoPoints returns how many measurements config.AutoEvery takes during a number of
// rounds of a trial of a given length, and on how many of n clients, before AutoShare
// bounds them.
func AutoPoints(rounds, trialRounds, n int) (points, clients int) {
	return meter.AutoPoints(rounds, trialRounds, n)
}
