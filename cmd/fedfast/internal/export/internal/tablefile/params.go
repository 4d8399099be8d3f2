package tablefile

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/internal/store"
)

// paramPrefix marks the columns that Expand adds.
const paramPrefix = "params_"

// Expand replaces the column params, an object, where there is one, by a
// column a hyperparameter: params_client.lr and so on.
func Expand(t *store.Table) {
	at := slices.Index(t.Columns, "params")
	if at < 0 {
		return
	}
	all := map[string]bool{}
	objects := make([]map[string]any, len(t.Rows))
	for i, row := range t.Rows {
		text, _ := row[at].(string)
		if json.Unmarshal([]byte(text), &objects[i]) == nil {
			for key := range objects[i] {
				all[key] = true
			}
		}
	}
	keys := slices.Sorted(maps.Keys(all))
	t.Columns = slices.Delete(slices.Clone(t.Columns), at, at+1)
	for _, key := range keys {
		t.Columns = append(t.Columns, paramPrefix+key)
	}
	for i, row := range t.Rows {
		row = slices.Delete(row, at, at+1)
		for _, key := range keys {
			v := objects[i][key]
			if b, ok := v.(bool); ok {
				v = strconv.FormatBool(b)
			}
			row = append(row, v)
		}
		t.Rows[i] = row
	}
}
