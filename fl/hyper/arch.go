package hyper

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/tuners"
)

// Pick returns the values of the choices that c.Arch names.
func (c Client) Pick() map[string]int {
	pick := map[string]int{}
	for part := range strings.FieldsSeq(c.Arch) {
		name, value, _ := strings.Cut(part, "=")
		if v, err := strconv.Atoi(value); err == nil {
			pick[name] = v
		}
	}
	return pick
}

// SetPick sets c.Arch to the values of choices, by name in ascending order: such as
// "stage1.depth=2 stage1.width=16".
func (c *Client) SetPick(pick map[string]int) {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(pick)) {
		parts = append(parts, name+"="+strconv.Itoa(pick[name]))
	}
	c.Arch = strings.Join(parts, " ")
}

// withPick returns h with the choices picked that params name.
func (h Values) withPick(params tuners.Params) (Values, error) {
	var pick map[string]int
	for _, name := range params.Keys() {
		choice, ok := strings.CutPrefix(name, tuners.ArchPrefix)
		if !ok {
			continue
		}
		x, ok := params[name].Float()
		if !ok || x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
			return h, &key.Error{Key: name, Problem: fmt.Sprintf(": must be an integer, not %v", params[name])}
		}
		if pick == nil {
			pick = h.Client.Pick()
		}
		pick[choice] = int(x)
	}
	if pick != nil {
		h.Client.SetPick(pick)
	}
	return h, nil
}
