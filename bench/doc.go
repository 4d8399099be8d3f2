// Package bench measures fedfast: its suites time kernels and training steps, next to the processor's peak measured in the same run.
//
// Times are CPU time of the measuring thread where the system tells it (Linux), so that other programs disturb a figure as little as
// possible, and wall-clock time elsewhere. A figure is the median of repeated samples, which take turns with samples of the peak.
package bench
