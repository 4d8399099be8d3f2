package cluster

import "github.com/fedfast/fedfast/fl/study/cluster/internal/wire"

// Folder is the folder of a cluster in the study's directory, and JoinFile the file in it
// that workers need to join. Whoever can read it can join.
const (
	Folder   = wire.Folder
	JoinFile = wire.JoinFile
)

// CheckAddress returns an error unless an address is HOST:PORT or the URL of an external
// NATS server.
func CheckAddress(address string) error { return wire.CheckAddress(address) }
