// Package result has what studies end with and what their records tell: results, their models
// and errors, and the rows of a record for those who read it. It trains nothing.
//
// Start here: [Read] has the end of a recorded study, [Rounds] its rounds one by one, and
// [Result.Verdict] says what is wrong with a model. Package view lays a study out for displays:
// https://pkg.go.dev/github.com/fedfast/fedfast/fl/study/view.
package result
