package glyphs_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fedfast/fedfast/internal/test/glyphs"
)

func ExampleGenerate() {
	set, err := glyphs.Generate(context.Background(), glyphs.Config{Seed: 1, Clients: 20, MeanSamples: 40})
	if err != nil {
		log.Fatal(err)
	}
	first := set.Writers[0]
	fmt.Println(len(set.Writers), "writers")
	fmt.Println(first.ID, len(first.Images) == len(first.Labels)*glyphs.Pixels)
	// Output:
	// 20 writers
	// writer-0000 true
}
