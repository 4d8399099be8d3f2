// Package tuner holds what the built-in tuners say of themselves: about.toml in the folder of each.
package tuner

import "embed"

// About has the files about.toml, with the names and values of tuners.Description.
//
//go:embed */about.toml
var About embed.FS
