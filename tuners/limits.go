package tuners

// What a tuner may ask for in one answer, and of proxy federations in all. A study
// of more trials takes several answers.
const (
	MaxDecisions   = 10_000
	MaxPoints      = 4_096   // of one Score or Local
	MaxLocalScores = 250_000 // of the clients of a Local, one for each point
	MaxSideTrials  = 100_000
	MaxSideRounds  = 1_000_000 // of one trial
	MaxSideClients = 1_000_000
	MaxSideSamples = 1_000_000_000 // of one client
)

// What the notes of one plan may hold: names, and numbers of all of them together.
const (
	MaxNotes       = 64
	MaxNoteNumbers = 1024
)
