// Package limit holds numbers on which package fl and the studies agree.
package limit

// DivergedLoss stands for a mean loss that is not finite or higher, so that it
// can be compared, averaged and sent to a tuner.
const DivergedLoss = 1e6

// DivergedFit stands for the root mean squared error of a regression that is not finite or
// higher.
const DivergedFit = 1e12

// StateMemory is how many bytes of memory the clients' states may take where nobody says
// otherwise: 2 GiB.
const StateMemory = 2 << 30
