// Package repro runs the experiments of papers about tuning federated learning and
// lays what it measures beside the published numbers.
//
// A Cell is one published number, or one curve, by name. It is measured in a
// Training: a study or a plain run with the paper's settings, which is repeated
// with other seeds. Cells share trainings where they can. A Plan says
// which trainings a set of cells needs; Job.Run trains them; Collect turns a
// finished one into Metrics, lines of JSON that are small enough to be committed;
// and a Report is made of Metrics alone, wherever they were measured.
package repro
