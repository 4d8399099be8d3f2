// Package record has the rows of a study's journal as Go types: their JSON is what the
// store holds.
package record

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/store"
)

// Real is a float64 whose JSON holds every value: NaN is null, infinities are
// strings.
type Real float64

// MarshalJSON writes the shortest number that reads back as the same bits.
func (x Real) MarshalJSON() ([]byte, error) {
	switch f := float64(x); {
	case math.IsNaN(f):
		return []byte("null"), nil
	case math.IsInf(f, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-inf"`), nil
	default:
		return json.Marshal(f)
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (x *Real) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "null":
		*x = Real(math.NaN())
	case `"inf"`:
		*x = Real(math.Inf(1))
	case `"-inf"`:
		*x = Real(math.Inf(-1))
	default:
		return json.Unmarshal(b, (*float64)(x))
	}
	return nil
}

// Float returns a number that may be missing, as NaN.
func (x *Real) Float() float64 {
	if x == nil {
		return math.NaN()
	}
	return float64(*x)
}

// Pointer returns a number that may be missing, as nil.
func (x *Real) Pointer() *float64 { return (*float64)(x) }

// Reals returns values by name as they are recorded, nil for none.
func Reals(values map[string]float64) map[string]Real {
	return convert(values, func(x float64) Real { return Real(x) })
}

// Numbers is the inverse of Reals.
func Numbers(values map[string]Real) map[string]float64 {
	return convert(values, func(x Real) float64 { return float64(x) })
}

func convert[A, B any](values map[string]A, to func(A) B) map[string]B {
	if values == nil {
		return nil
	}
	out := make(map[string]B, len(values))
	for name, x := range values {
		out[name] = to(x)
	}
	return out
}

// Into reads a row and passes what it has to set.
func Into[T any](r store.Row, set func(*T)) error {
	v, err := Decode[T](r.Kind, r.Data)
	if err == nil {
		set(v)
	}
	return err
}

// Decode reads the data of a row.
func Decode[T any](kind string, data []byte) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("invalid record of kind %s: %w", kind, err)
	}
	return v, nil
}

// mostClients is the largest number of clients whose errors are recorded; of more, those
// at even distances are.
const mostClients = 20_000

// Clients holds the errors of single clients, one entry per client in each list.
type Clients struct {
	Clients      []int    `json:"clients"`
	Names        []string `json:"names"`
	Samples      []int    `json:"samples"`
	Global       []Real   `json:"global"`
	Personalized []Real   `json:"personalized"`
	// GlobalAUC and PersonalizedAUC are null for clients without a ROC AUC.
	GlobalAUC       []*Real `json:"global_roc_auc,omitempty"`
	PersonalizedAUC []*Real `json:"personalized_roc_auc,omitempty"`
	// Skew is left out where it is unknown.
	Skew []Real `json:"label_skew,omitempty"`
}

// ClientsOf has the errors of clients, of too many those at even distances.
func ClientsOf(all []fl.ClientError) Clients {
	var rec Clients
	every := (len(all) + mostClients - 1) / mostClients
	for i := 0; i < len(all); i += every {
		c := &all[i]
		rec.Clients, rec.Names, rec.Samples = append(rec.Clients, c.Client), append(rec.Names, c.Name), append(rec.Samples, c.Samples)
		rec.Global, rec.Personalized = append(rec.Global, Real(c.Global)), append(rec.Personalized, Real(c.Personalized))
		rec.GlobalAUC = append(rec.GlobalAUC, (*Real)(c.GlobalAUC))
		rec.PersonalizedAUC = append(rec.PersonalizedAUC, (*Real)(c.PersonalizedAUC))
		if c.Skew != nil {
			rec.Skew = append(rec.Skew, Real(*c.Skew))
		}
	}
	return rec
}

// Errors are the errors of the single clients.
func (rec *Clients) Errors() []fl.ClientError {
	n := min(len(rec.Clients), len(rec.Names), len(rec.Samples), len(rec.Global), len(rec.Personalized))
	all := make([]fl.ClientError, n)
	for i := range all {
		all[i] = fl.ClientError{
			Client: rec.Clients[i], Name: rec.Names[i], Samples: rec.Samples[i], Global: float64(rec.Global[i]), Personalized: float64(rec.Personalized[i]),
		}
		if len(rec.Skew) == n {
			all[i].Skew = rec.Skew[i].Pointer()
		}
		if i < min(len(rec.GlobalAUC), len(rec.PersonalizedAUC)) { // older records have none
			all[i].GlobalAUC, all[i].PersonalizedAUC = rec.GlobalAUC[i].Pointer(), rec.PersonalizedAUC[i].Pointer()
		}
	}
	return all
}
