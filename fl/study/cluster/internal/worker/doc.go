// Package worker trains the trials of a study, and parts of its rounds, for a coordinator. A
// Worker keeps up sessions with it; in each, a loop carries out one order after another
// with an Engine: that of the study, or the stub of a simulation.
package worker
