// Command extend is fedfast with a layer, a loss, a method, a data set and a tuner of its
// own, from a module of its own: each is one file, which registers it, and all commands
// know it by its name.
//
//	go run . tune study.toml --study first
package main

import (
	"os"

	"github.com/fedfast/fedfast/cmd/fedfast/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }

// must ends a program that registers what is wrong or has a name that is taken.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
