package fl

import "fmt"

// PanicError is a panic in a client task, which ends the round and not the
// process.
type PanicError struct {
	// Value is what was panicked with.
	Value any
	// Stack is the stack of the task.
	Stack []byte
}

// Error tells the value; the stack is for logs.
func (e *PanicError) Error() string { return fmt.Sprintf("panic in a client task: %v", e.Value) }
