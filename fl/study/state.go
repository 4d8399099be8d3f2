package study

// State is how far a study or a trial is.
type State string

// The states of studies and trials. A study is never pruned or failed.
const (
	// Running is what a process works on. A trial that waits at a rung is running.
	Running State = "running"
	// Completed has come to its end. A trial has when it has run all its rounds, or
	// was not stopped before the study ended.
	Completed State = "completed"
	// Pruned is a trial that was stopped before its last round: by the tuner or by a
	// person.
	Pruned State = "pruned"
	// Failed is a trial that cannot go on.
	Failed State = "failed"
	// Interrupted is what no process works on although it has not come to its end.
	Interrupted State = "interrupted"
)
