package docs_test

import (
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/docs"
)

func ExamplePage() {
	title, _, _ := strings.Cut(docs.Page("troubleshooting"), "\n")
	fmt.Println(title)
	// Output: # Troubleshooting
}
