package nn

import (
	"fmt"
	"strconv"
)

// Torch is where a layer writes itself as a step of a PyTorch module's forward function:
//
//	func(t *nn.Torch) { t.Set("F.relu(%s)", t.X) }
//
// or, with parameters,
//
//	func(t *nn.Torch) { t.Set("%s(%s)", t.Module("nn.Linear(%d, %d)", t.In.C, l.Units), t.X) }
//
// The parameters of the module must be those of the layer, by name and shape.
type Torch struct {
	Stage
	// X is the variable that the layer reads. Those of an image are [N, C, H, W], of a
	// vector [N, C], of a sequence [N, steps, C], of tokens [N, steps].
	X string
	// Flat says that X is a vector; a layer that gives another form says so.
	Flat bool
	// Shared holds what layers of one network tell each other, by names that they agree
	// on.
	Shared map[string]string

	// To is the variable that the layer gives.
	To string

	// Writer writes the module.
	Writer interface {
		// Line adds a line to the forward function.
		Line(text string)
		// Module adds a module under a layer's name and returns how the forward function
		// calls it.
		Module(name, made string) string
		// Need adds the Python code of a class or a function, once each name.
		Need(name, code string)
	}
}

// Set writes a step: the variable that the layer gives becomes a value, after which it
// is what X names.
func (t *Torch) Set(form string, args ...any) {
	t.Writer.Line(t.To + " = " + fmt.Sprintf(form, args...))
	t.X = t.To
}

// Module adds a module of PyTorch, or of a class that Need brought, with the layer's
// parameters, and returns how it is called.
func (t *Torch) Module(form string, args ...any) string {
	return t.Writer.Module(t.Name, fmt.Sprintf(form, args...))
}

// Need brings Python code that defines a name.
func (t *Torch) Need(name, code string) { t.Writer.Need(name, code) }

// Image makes a vector an image of one pixel.
func (t *Torch) Image() {
	if t.Flat {
		t.Set("%s[:, :, None, None]", t.X)
		t.Flat = false
	}
}

// torchOption writes a keyword of a call, unless it is 1 or not given.
func torchOption(name string, n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf(", %s=%d", name, n)
}

func torchBias(none bool) string {
	if none {
		return ", bias=False"
	}
	return ""
}

// torchSides writes a number of rows and one of columns.
func torchSides(rows, columns int) string {
	if rows == columns {
		return strconv.Itoa(rows)
	}
	return fmt.Sprintf("(%d, %d)", rows, columns)
}

// window is what goes over an image, and how the image is padded.
type window struct {
	h, w, stride int
	same         bool
	padding      int    // on each side
	with         string // what padding holds
}

// pad makes an image of what is read, pads it as TensorFlow's "same" does, where an odd
// row or column goes to the end, and returns the keyword of the padding that the layer
// itself adds. PyTorch's layers pad both ends alike, so that anything else is a step before.
func (t *Torch) pad(w window) (inside string) {
	t.Image()
	if w.same {
		rows, columns := missing(t.In.H, w.h, w.stride), missing(t.In.W, w.w, w.stride)
		if rows%2+columns%2 > 0 || rows > w.h || columns > w.w { // PyTorch's pools take half a window at most
			t.Set("F.pad(%s, (%d, %d, %d, %d), value=%s)", t.X, columns/2, columns-columns/2, rows/2, rows-rows/2, w.with)
			return ""
		}
		return torchPadding(rows/2, columns/2)
	}
	return torchPadding(padded(w.h, w.padding), padded(w.w, w.padding))
}

func torchPadding(rows, columns int) string {
	if rows+columns == 0 {
		return ""
	}
	return ", padding=" + torchSides(rows, columns)
}

func torchCeil(ceil bool) string {
	if ceil {
		return ", ceil_mode=True"
	}
	return ""
}

// padded returns the padding along a side of a window: none where the window is 1.
func padded(window, padding int) int {
	if window == 1 {
		return 0
	}
	return padding
}

// missing is how many rows or columns "same" adds.
func missing(size, kernel, stride int) int {
	return max(((size+stride-1)/stride-1)*stride+kernel-size, 0)
}
