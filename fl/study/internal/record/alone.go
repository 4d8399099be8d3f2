package record

import (
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/tuners"
)

// Alone is what a baseline without federation came to: config.Local or config.Pooled.
type Alone struct {
	Name string `json:"name"`
	// Settings says whose hyperparameters it was trained with, "tuned" or "file"; Params are those.
	Settings string        `json:"settings"`
	Params   tuners.Params `json:"params,omitempty"`
	// Val is the loss on the clients' validation samples, Test what their test samples measured, and
	// Clients that of the single ones, as personalized errors of local and global ones of pooled models.
	Val     Real       `json:"val_loss"`
	Test    fl.Summary `json:"test"`
	Clients Clients    `json:"clients"`
}
