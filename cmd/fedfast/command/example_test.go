package command_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/command"
)

// Wrong usage is one line and exit code 2.
func ExampleMain() {
	var stderr strings.Builder
	code := command.Main([]string{"run", "--workers", "-1"}, os.Stdout, &stderr)
	fmt.Println(code, strings.Count(stderr.String(), "\n"))
	// Output: 2 1
}
