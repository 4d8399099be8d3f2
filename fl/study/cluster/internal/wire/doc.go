// Package wire is what the coordinator of a cluster and its workers say to each other, and
// how it gets there: messages and the bounds on what is in them, blobs of weights, the
// server, the connection, its encryption, and the join file.
//
// Of a study it knows the snapshots of trials and the facts that coordinator and workers
// compare. Whether a message makes sense is up to its receiver; that its numbers and names
// can be used safely is checked here.
package wire
