package safetensors_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/nn/safetensors"
)

// Weights pass through a file.
func Example() {
	model, err := models.New("logistic", models.Options{})
	if err != nil {
		panic(err)
	}
	weights := model.NewParams()
	model.Init(weights, 1)
	folder, err := os.MkdirTemp("", "weights")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	f, err := os.Create(filepath.Join(folder, "model.safetensors"))
	if err != nil {
		panic(err)
	}
	if err := safetensors.Write(f, model, weights); err != nil {
		panic(err)
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
	again, err := safetensors.Read(f.Name(), model)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(again) == len(weights), again[0] == weights[0])
	// Output: true true
}
