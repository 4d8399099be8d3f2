package config

import (
	"context"
	"testing"

	"github.com/fedfast/fedfast/data"
)

// TestOwnSet: a set that a program registers is one that a study file may name.
func TestOwnSet(t *testing.T) {
	err := data.Register(data.SetInfo{Name: "test-own", Kind: data.Vector},
		func(context.Context, data.Config) (*data.Federation, []data.Examples, error) {
			view := data.VectorView(2, make([]float32, 80), make([]int32, 40))
			return &data.Federation{H: 1, W: 1, C: 2, Classes: 2}, []data.Examples{
				{Client: "a", Train: view},
				{Client: "b", Train: view},
			}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(Source{Sets: []string{"data.name=test-own", "model=logistic", "rounds=1", "cohort=1"}})
	if err != nil {
		t.Fatal(err)
	}
	fed, m, err := Prepare(t.Context(), c)
	if err != nil || len(fed.Clients) != 2 || m.Input().C != 2 {
		t.Errorf("prepared %v, %v, %v", fed, m, err)
	}
}
