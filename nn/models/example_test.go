package models_test

import (
	"fmt"
	"log"

	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

func ExampleNew() {
	m, err := models.New("leaf-femnist-cnn", models.Options{Classes: 10})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Name(), m.Classes(), m.NumParams())
	// Output: leaf-femnist-cnn 10 6497162
}

func ExampleNames() {
	fmt.Println(models.Names()[:3])
	// Output: [logistic leaf-femnist-cnn reddi-emnist-cnn]
}

// A network as the [[model.layers]] tables of a study describe it.
func ExampleFromLayers() {
	m, err := models.FromLayers([]models.LayerSpec{
		{Type: "conv", Filters: 8, Kernel: 3, Padding: "same"},
		{Type: "relu"},
		{Type: "maxpool", Size: 2},
		{Type: "dense"},
	}, nn.Shape{H: 28, W: 28, C: 1}, 10)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range m.Export(m.NewParams()) {
		fmt.Println(t.Name, t.Shape)
	}
	// Output:
	// conv1.weight [8 1 3 3]
	// conv1.bias [8]
	// dense1.weight [10 1568]
	// dense1.bias [10]
}
