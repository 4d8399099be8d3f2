// Command fedfast trains federations of clients on CPUs and tunes that training
// through plugins.
package main

import (
	"os"

	"github.com/fedfast/fedfast/cmd/fedfast/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
