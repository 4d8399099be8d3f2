// Package bench measures fedfast: its suites time kernels, training steps, whole
// rounds, tuners, and how rounds grow, next to the processor's peak measured in the
// same run and, on request, next to PyTorch.
//
// Times of kernels and steps are CPU time of the measuring thread where the system
// tells it (Linux), so that other programs disturb a figure as little as possible,
// and wall-clock time elsewhere; times of rounds and of tuners are wall-clock time.
// A figure is the median of repeated samples, which take turns with samples of the
// peak, of the row's bound, and of PyTorch.
package bench
