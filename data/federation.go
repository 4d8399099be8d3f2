// Package data opens federations: clients, each with training, validation and
// test examples that are read through views. Examples are held once, in the
// smallest form that keeps them exact (bytes for images, one byte a character
// for text); views share that memory and are safe for concurrent readers.
//
// The datasets that it opens are registered: importing data/sets registers the
// built-in ones, Register one of a program's own.
//
// What Open returns depends on its Config and the files alone, on every CPU.
package data

import "io"

// Kind is what one example's input is.
type Kind uint8

// The kinds of input.
const (
	Image  Kind = iota // H x W x C floats, channels last
	Tokens             // SeqLen token ids
	Vector             // C floats (H = W = 1)
)

// String returns "image", "tokens" or "vector".
func (k Kind) String() string {
	switch k {
	case Image:
		return "image"
	case Tokens:
		return "tokens"
	case Vector:
		return "vector"
	}
	return "unknown kind"
}

// Federation is a set of clients with the form of their examples. It is
// read-only.
type Federation struct {
	Name, Doc string
	Kind      Kind
	// H, W, C is the form of an image or (1, 1, C) of a vector.
	H, W, C int
	// SeqLen and Vocab are the tokens of an example and the number of token ids.
	SeqLen, Vocab int
	// Classes is the number of classes; labels are in [0, Classes). It is how many
	// numbers there are to predict where Target says so.
	Classes int
	// Target is what is to be predicted; it is OneClass for most sets. The others are
	// read by View.FillTargets.
	Target Target
	// EveryStep says that an example has a label at each of its SeqLen tokens, -1
	// where there is none, instead of one label.
	EveryStep bool
	// Masks are the groups of labels that accuracies over words also leave out,
	// beside the accuracy over all labels, see View.Masked; nil for most sets.
	Masks []Mask
	// Lazy says that a client's examples are read from a file, or drawn, when they are
	// asked for, and forgotten when others are. There may be hundreds of thousands of
	// clients: what needs the examples of all of them takes long.
	Lazy bool
	// Synthetic is set if the examples are generated.
	Synthetic bool
	// FilesTest says that the test examples, the clients' or Test, are the test samples
	// of the files. Else a client's samples were cut into its training, validation and
	// test examples.
	FilesTest bool
	// Clients take part in training. Each has at least one training example.
	Clients []Client
	// Unseen clients never train: with Config.Unseen those that have test examples only,
	// then those of Config.UnseenClients, which have others, too.
	Unseen []Client
	// Test is a test set of no client, on which the global model is measured. It is
	// empty for most sets, whose clients have test examples; where it is not, they
	// have none.
	Test View
	// Proxy holds the samples that were set apart for proxy federations: no client
	// has them. It is empty unless Config.Proxy.
	Proxy View
	// Files tells what was read or drawn, before the rest was made of it.
	Files Totals
	// Fingerprint is a hash of what was read, 16 hexadecimal digits: of the
	// clients' names and sizes and of the contents of up to 2,048 examples (of none
	// of a Lazy set). It does not depend on how the rest was made of it, such as on
	// a seed. Files of another fingerprint are other data. It is empty for a
	// Synthetic set, which the Config alone decides, and for federations that Open
	// has not made.
	Fingerprint string
	// Normalized is what all examples were normalized by: numbers that were measured or
	// Config's ImageMean and ImageStd; nil if they were not, or each client's by its own.
	Normalized *Normalized
	// Columns describe the numbers of a sample of a table as the set's Load returns it, C of
	// them, a missing one being NaN. Open makes inputs of them, whose number C then is.
	Columns []Column
	// Inputs says which inputs each of Columns became; nil where each client's are scaled by its own samples.
	Inputs []ColumnInputs
	// ClassNames are the values of a table's label that are classes, in their order; nil with Config.Positive.
	ClassNames []string
	// Forms says that a table has numbers in forms that few programs read, such as amounts.
	Forms bool
	// Sent is how many bytes of statistics of its training samples a client sends before
	// training, at most; they have no noise.
	Sent int
	// Notes say, one plain line each, what was left out, capped, merged or assumed.
	Notes []string
	// File is what a Lazy federation reads its examples from; nil for any other.
	File io.Closer
}

// Close closes the file of a Lazy federation, whose examples cannot be read
// afterwards. It does nothing to others.
func (f *Federation) Close() error {
	if f.File == nil {
		return nil
	}
	return f.File.Close()
}

// Mask names labels that an accuracy leaves out: a step with such a label does
// not count, whatever is predicted there.
type Mask struct {
	Name   string
	Labels []int32
}

// Client is one participant of a federation.
type Client struct {
	ID               string
	Train, Val, Test View
}
