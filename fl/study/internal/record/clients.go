package record

import "github.com/fedfast/fedfast/fl"

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
		if i < min(len(rec.GlobalAUC), len(rec.PersonalizedAUC)) { // older records have none
			all[i].GlobalAUC, all[i].PersonalizedAUC = rec.GlobalAUC[i].Pointer(), rec.PersonalizedAUC[i].Pointer()
		}
	}
	return all
}
