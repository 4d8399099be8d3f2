// Package finite writes JSON whose numbers are all finite: a loss that has
// diverged to NaN or infinity, which JSON cannot hold, becomes null.
package finite

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// options are encoding/json's but for floats.
var options = jsonv2.JoinOptions(jsonv1.DefaultOptionsV1(), jsonv2.WithMarshalers(jsonv2.JoinMarshalers(
	jsonv2.MarshalToFunc(null),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, x float32) error { return null(e, float64(x)) }),
)))

// null writes null for a float that is not finite and leaves the others to the encoder.
func null(e *jsontext.Encoder, x float64) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return e.WriteToken(jsontext.Null)
	}
	return errors.ErrUnsupported
}

// Marshal works as json.Marshal does, with null for values of the types float64 and
// float32 that are not finite. Types with methods that marshal them write what they
// write.
func Marshal(v any) ([]byte, error) { return jsonv2.Marshal(v, options) }

// MarshalIndent is Marshal with two spaces a level.
func MarshalIndent(v any) ([]byte, error) {
	text, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, text, "", "  ")
	return b.Bytes(), err
}
