package store_test

import (
	"fmt"

	"github.com/fedfast/fedfast/internal/store"
)

// The record of a study is a SQLite database; these views of it are for readers.
func ExampleTables() {
	fmt.Println(store.File, "has", store.Tables()[0], "and", store.Tables()[1])
	// Output: study.db has trials and rounds
}
