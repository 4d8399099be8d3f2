package key

import "testing"

func TestGuess(t *testing.T) {
	keys := []Name{
		{"rounds", []string{"num_rounds"}},
		{"cohort", nil},
		{"client.lr", []string{"learning_rate", "eta"}},
		{"client.batch", []string{"batch_size"}},
		{"client.weight_decay", nil},
		{"server.lr", []string{"learning_rate"}},
		{"data.clients", nil},
		{"data.hi", nil},
	}
	names := Names("fedavg", "fedavgm", "fedprox", "leaf-femnist", "tff-emnist")
	tests := []struct {
		word, want string
		known      []Name
	}{
		{"fedavrg", "fedavg", names},
		{"FedAvg", "fedavg", names},
		{"fed-prox", "fedprox", names},
		{"femnist", "leaf-femnist", names},
		{"leaf_femnist", "leaf-femnist", names},
		{"xyz", "", names},
		{"", "", names},
		{"client.learning_rate", "client.lr", keys},
		{"server.learning_rate", "server.lr", keys},
		{"learning_rate", "client.lr", keys},
		{"learningrate", "client.lr", keys},
		{"client.leraning_rate", "client.lr", keys},
		{"batch_size", "client.batch", keys},
		{"client.BatchSize", "client.batch", keys},
		{"weight_decay", "client.weight_decay", keys},
		{"clinet.lr", "client.lr", keys},
		{"server.batch", "client.batch", keys},
		{"rond", "rounds", keys},
		{"ab", "", keys},
		{"whatever.nothing", "", keys},
	}
	for _, tt := range tests {
		if got := Guess(tt.word, tt.known); got != tt.want {
			t.Errorf("Guess(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
	if got := DidYouMean("fedavrg", names); got != ` (did you mean "fedavg"?)` {
		t.Error(got)
	}
	if got := DidYouMean("zzzzzz", names); got != "" {
		t.Error(got)
	}
}
