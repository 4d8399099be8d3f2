// Command make writes a Python wheel of fedfast for one system; .ci/release calls it.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/wheel"
)

func main() {
	w := wheel.Wheel{}
	out := flag.String("out", ".", "write the wheel to `DIR`")
	flag.StringVar(&w.Project, "project", "tuners/python", "`DIR` of the Python project")
	flag.StringVar(&w.License, "license", "LICENSE", "license `FILE`")
	flag.StringVar(&w.Program, "program", "", "`FILE` of the program for the wheel's system")
	flag.StringVar(&w.OS, "os", "", "operating `SYSTEM`, as in GOOS")
	flag.StringVar(&w.Arch, "arch", "", "`ARCHITECTURE`, as in GOARCH")
	flag.StringVar(&w.Local, "local", "", "`SUFFIX` of the version, such as .dev0+g1a2b3c4, if the commit is no release")
	flag.Parse()
	file, err := w.Write(*out)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(file)
}
