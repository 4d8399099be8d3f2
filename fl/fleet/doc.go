// Package fleet simulates the devices of the clients: how fast they compute, receive
// and send, when they are available, and which of their jobs fail.
//
// A Fleet trains nothing. It says when a job that starts at a given time of the
// simulated clock has received the weights, has trained, and has sent its update.
// Every draw depends on the seed, the client and the job alone, so answers do not
// depend on the order of questions, and a fleet of a million clients takes no memory
// for those that are never asked for.
//
// Times are nanoseconds since the start of the training. Each duration is rounded
// once, half to even; one that does not fit is math.MaxInt64, "never".
package fleet
