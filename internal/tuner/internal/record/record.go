// Package record keeps the states of the built-in tuners' sessions as JSON.
package record

import (
	"encoding/json"
	"fmt"
)

// Record is the recorded form of a session's state. A session embeds it, calls Save
// at the end of each call that changes the state, and has the method State from it.
type Record struct{ bytes []byte }

// Read fills a state, a pointer, from what the tuner called name has recorded.
func Read(name string, recorded []byte, state any) error {
	if err := json.Unmarshal(recorded, state); err != nil {
		return fmt.Errorf("%s: recorded state is damaged: %w", name, err)
	}
	return nil
}

// Begin reads what the tuner of a name recorded, if it did, and keeps the state.
func (r *Record) Begin(name string, recorded []byte, state any) error {
	if recorded != nil {
		if err := Read(name, recorded, state); err != nil {
			return err
		}
	}
	return r.Save(state)
}

// Save records a state, a pointer: what it points to is read now, after the calls
// that stand before it in a return statement.
func (r *Record) Save(state any) (err error) {
	r.bytes, err = json.Marshal(state)
	return err
}

// State returns what was saved last.
func (r *Record) State() []byte { return r.bytes }
