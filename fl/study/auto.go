package study

import "github.com/fedfast/fedfast/fl/study/internal/meter"

// AutoShare is the most that the measurements of config.AutoEvery take of the training's
// multiply-adds.
const AutoShare = meter.AutoShare

// AutoPoints returns how many measurements config.AutoEvery takes during a number of
// rounds of a trial of a given length, and on how many of n clients, before AutoShare
// bounds them.
func AutoPoints(rounds, trialRounds, n int) (points, clients int) {
	return meter.AutoPoints(rounds, trialRounds, n)
}
