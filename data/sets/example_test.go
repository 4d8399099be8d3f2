package sets_test

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/data"
	_ "github.com/fedfast/fedfast/data/sets"
)

// The built-in data sets can be named once the package is imported.
func Example() {
	fed, err := data.Open(context.Background(), data.Config{Name: "synthetic", Clients: 5, Samples: 50})
	if err != nil {
		panic(err)
	}
	defer func() { _ = fed.Close() }()
	fmt.Println(len(fed.Clients), "clients,", fed.Classes, "classes")
	// Output: 5 clients, 10 classes
}
