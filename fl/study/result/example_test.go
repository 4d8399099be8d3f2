package result_test

import (
	"encoding/json"
	"fmt"

	"github.com/fedfast/fedfast/fl/study/result"
)

// The result file of a study is a Result in JSON.
func Example() {
	text := `{"study": "mine", "best": {"number": 3, "score": 0.21}, "rounds": 120, "error_measure": ""}`
	var r result.Result
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		panic(err)
	}
	fmt.Printf("trial %d of %s, error %s\n", r.Best.Number, r.Study, result.ErrorText(r.Measure, r.Best.Score))
	// Output: trial 3 of mine, error 21.00 %
}
