// Command fedfast-tuner-coordinate is a tuner of its own, outside of fedfast's
// module: build it under this name, put it where fedfast looks for tuners, and run
// `fedfast tune --tuner coordinate`.
package main

import "github.com/fedfast/fedfast/tuners"

func main() { tuners.Serve(coordinate{}) }
