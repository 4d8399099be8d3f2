// Package workdir runs studies in directories, so that they outlive the process:
// Tune and Run begin a study, or resume the one that is there, and end with the
// same bits however often they were interrupted. A directory holds the record from
// which a study is resumed and, for readers, the resolved configuration, the
// environment, the metrics, the result and the returned model.
//
// Start here: [Tune] and [Run] bring a study to its end, and [Estimate] says how long one will take.
// What directories hold is in https://github.com/fedfast/fedfast/blob/main/fl/study/README.md.
package workdir
