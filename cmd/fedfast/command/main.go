// Package command is the command line of fedfast, for programs that add layers,
// losses, methods or sets of data of their own:
//
//	package main
//
//	import (
//		"os"
//
//		"github.com/fedfast/fedfast/cmd/fedfast/command"
//		_ "example.org/mine" // registers them
//	)
//
//	func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
//
// Such a program has all commands of fedfast, which know what was registered by its
// name: in study files, in lists and in help.
package command

import "io"

// Main runs a command line, without the program's name, and returns its exit code: 0,
// or 1 for a failure and 2 for wrong usage, of which it writes one line to stderr.
func Main(args []string, stdout, stderr io.Writer) int {
	a := &app{out: stdout, err: stderr}
	return a.main(args)
}
