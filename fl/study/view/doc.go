// Package view is the read model of a study: what its record tells, laid out for
// those who look at it, in reports and in displays that follow a study at work.
//
// A study is opened for reading only, also while another process works on it, and
// nothing of it is kept in memory: [Study.Overview] costs as much as there are
// trials, [Study.Curve] as that trial has rounds, and [Study.Since] as much as is
// new.
package view
