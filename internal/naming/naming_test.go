package naming

import (
	"fmt"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct{ name, doc, want string }{
		{"fedavg-2_b", "a mean", ""},
		{"", "a mean", ": a name must be"},
		{"2fast", "a mean", ": a name must be"},
		{"Huber", "a mean", ": a name must be"},
		{"a b", "a mean", ": a name must be"},
		{"a", "", ": Doc must be"},
		{"a", "two\nlines", ": Doc must be"},
		{"a", "two | cells", ": Doc must be"},
	} {
		err := Check("nn: loss", c.name, c.doc)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(),
			fmt.Sprintf("nn: loss %q%s", c.name, c.want)) {
			t.Errorf("name %q, doc %q: %v, want %q", c.name, c.doc, err, c.want)
		}
	}
}
