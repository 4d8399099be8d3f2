package data

import (
	"strings"
	"testing"
)

// Who opens a set and has registered none learns what to import.
func TestNothingIsRegistered(t *testing.T) {
	registered.Lock()
	kept := registered.sets
	registered.sets = nil
	registered.Unlock()
	defer func() {
		registered.Lock()
		defer registered.Unlock()
		registered.sets = kept
	}()
	_, err := Open(t.Context(), Config{Name: "mnist"})
	if err == nil || !strings.Contains(err.Error(),
		"no set is registered; import github.com/fedfast/fedfast/data/sets") || len(Sets()) != 0 {
		t.Errorf("error %v", err)
	}
}
