// Command fedfast trains federations of clients on CPUs and tunes that training
// through plugins.
package main

import "os"

func main() {
	a := &app{out: os.Stdout, err: os.Stderr}
	os.Exit(a.main(os.Args[1:]))
}
