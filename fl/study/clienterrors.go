package study

import (
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/store"
)

// mostClients is the largest number of clients whose errors are recorded; of more, those
// at even distances are.
const mostClients = 20_000

// clientsRecord holds the errors of single clients, one entry per client in each list.
type clientsRecord struct {
	Clients      []int         `json:"clients"`
	Names        []string      `json:"names"`
	Samples      []int         `json:"samples"`
	Global       []record.Real `json:"global"`
	Personalized []record.Real `json:"personalized"`
}

func clientsRecordOf(all []fl.ClientError) clientsRecord {
	var rec clientsRecord
	every := (len(all) + mostClients - 1) / mostClients
	for i := 0; i < len(all); i += every {
		c := &all[i]
		rec.Clients, rec.Names, rec.Samples = append(rec.Clients, c.Client), append(rec.Names, c.Name), append(rec.Samples, c.Samples)
		rec.Global, rec.Personalized = append(rec.Global, record.Real(c.Global)), append(rec.Personalized, record.Real(c.Personalized))
	}
	return rec
}

// ReadClients reads a row of store.KindClients: the test errors of the returned model on single
// clients.
func ReadClients(r store.Row) ([]fl.ClientError, error) {
	rec, err := record.Decode[clientsRecord](r.Kind, r.Data)
	if err != nil {
		return nil, err
	}
	n := min(len(rec.Clients), len(rec.Names), len(rec.Samples), len(rec.Global), len(rec.Personalized))
	all := make([]fl.ClientError, n)
	for i := range all {
		all[i] = fl.ClientError{Client: rec.Clients[i], Name: rec.Names[i], Samples: rec.Samples[i], Global: float64(rec.Global[i]), Personalized: float64(rec.Personalized[i])}
	}
	return all, nil
}
