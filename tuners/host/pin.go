package host

import (
	"errors"
	"fmt"
)

// ErrPinned is wrapped by the error about a tuner that is not the one that a study
// recorded.
var ErrPinned = errors.New("tuner differs from the recorded one")

// Pin is what a study records about a tuner that it uses, so that it never
// continues with another program unnoticed.
type Pin struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Path    string `json:"path,omitempty"` // of the program
	Builtin bool   `json:"builtin"`
	SHA256  string `json:"sha256"` // of the program; "" when it was attached to
}

// Pin returns what a study records about the tuner.
func (p *Plugin) Pin() Pin {
	return Pin{Name: p.ref.Name, Version: p.about.Version, Path: p.ref.Path, Builtin: p.ref.Builtin, SHA256: p.ref.SHA256}
}

// Pinned returns a reference that only starts the program that a study recorded:
// the checksum is checked again at every start. The error wraps ErrPinned and says
// which study recorded what, what was found, and, with the text of allow, how to go
// on all the same, for example "--allow-tuner-change". A study that was attached to
// its tuner recorded no checksum and takes any program of the name.
func (r Ref) Pinned(study string, pin Pin, allow string) (Ref, error) {
	found := r.SHA256
	switch {
	case r.Name != pin.Name:
		return Ref{}, fmt.Errorf("tuner %q: %w: study %s recorded the tuner %q", r.Name, ErrPinned, study, pin.Name)
	case pin.SHA256 == "" || pin.SHA256 == found:
		return r, nil
	case found == "":
		found = "none (attached)"
	}
	return Ref{}, fmt.Errorf("tuner %q: %w: study %s recorded version %s at %s with SHA-256 %s, but %s has %s; use the recorded program, or accept this one with %s",
		r.Name, ErrPinned, study, known(pin.Version), known(pin.Path), short(pin.SHA256), r.Path, short(found), allow)
}

// known writes a text that may be missing.
func known(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// short cuts a checksum to what a person compares.
func short(sum string) string {
	if len(sum) == 64 {
		return sum[:12] + "..."
	}
	return sum
}
