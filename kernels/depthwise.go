package kernels

// Channels is a part of a convolution in which every channel has weights of its own
// and reads itself only: Rows rows of Pixels outputs of C channels, a multiple of
// [Width]. Weight t of a channel meets the input Taps[t].X floats after the place
// that belongs to the output, whichever that is:
//
//	y[r*YRow + i*YStep + c] = Bias[c] + sum over t of W[Taps[t].W + c] * x[r*XRow + i*XStep + Taps[t].X + c]
//
// The sum goes in the order of Taps, and every operation is rounded.
type Channels struct {
	Rows, Pixels, C int
	Used            int // channels from it on are zeros in W and Bias, and so in Y; a level may leave them out; 0 means C
	Taps            []ChannelTap
	Run             int // number of taps in a run, each a pixel (XStep) after the one before; divides len(Taps); 0 if taps lie otherwise
	X               []float32
	XRow, XStep     int
	W               []float32
	Bias            []float32 // C values
	Y               []float32
	YRow, YStep     int
}

// ChannelTap is where one weight and its input lie, in floats.
type ChannelTap struct{ X, W int }

// channelTap is the same in bytes.
type channelTap struct{ x, w int }

// ChannelsGrad is the gradient of Taps neighbouring weights of every channel: to
// weight t, which lies WTap floats after the one before, it adds the products of the
// outputs' gradients with the inputs, XTap floats after those of the one before, image
// after image and row after row.
type ChannelsGrad struct {
	Images          int // 0 means 1
	XImage, YImage  int // distances between images
	Rows, Pixels, C int
	Used            int // channels from it on are zeros in DY and G; 0 means C
	Taps            int
	X               []float32
	XRow, XStep     int
	XTap            int
	DY              []float32
	YRow, YStep     int
	G               []float32
	WTap            int
}

// depthwiseTable holds the loops of one level. Distances are in bytes, channels
// counted in blocks of 16, and all sizes above 0; xNext is the distance from the end
// of a row to the next one, xImage that from the end of an image to the next one. Nothing is fused, so that every
// level gives the same bits.
type depthwiseTable struct {
	row, run3, run5  channelRow // run3 and run5 go through taps in runs of 3 and 5, and through tiles of pixels
	one, three, five channelWeights

	tile int // pixels of a tile of run3 and run5
	// half, where not nil, are the loops of a last block of which the first half counts.
	half *depthwiseTable
}

// split returns how many of the blocks of c channels are whole, and the loops of a half one
// after them, nil without any, where used of them count.
func (t *depthwiseTable) split(c, used int) (blocks int, half *depthwiseTable) {
	if used > 0 && c-used >= Width/2 && c > 0 && t.half != nil {
		return c/Width - 1, t.half
	}
	return c / Width, nil
}

// channelRow is a loop over the pixels of rows; yNext and xNext are the distances from the
// end of the channels of a row's first pixel to the next row.
type channelRow = func(y, x, w, bias *float32, taps *channelTap, count, pixels, channels, yStep, xStep, rows, yNext, xNext int)

var depthwises depthwiseTable

const (
	msgChannels = "kernels: Channels with C that is no multiple of Width, a negative size or distance, taps that are no runs, or a slice too short"

	// mostTaps is the most taps of a call, and fewTaps are the taps of a kernel of 5 x 5.
	mostTaps = 128
	fewTaps  = 25

	// channelSums is the most products of a call, by 16 channels: about 100 us.
	channelSums = 1 << 17
)

// reach returns the floats from the first place to the end of the last one.
func reach(rows, row, pixels, step, c int) int { return (rows-1)*row + (pixels-1)*step + c }

// ForwardChannels computes the outputs. It panics if a slice is too short.
func ForwardChannels(v *Channels) {
	if v.Rows < 0 || v.Pixels < 0 || v.Used < 0 || v.C < v.Used || v.C%Width != 0 || min(v.XRow, v.XStep, v.YRow, v.YStep) < 0 || len(v.Taps) > mostTaps {
		panic(msgChannels)
	}
	if v.Rows == 0 || v.Pixels == 0 || v.C == 0 {
		return
	}
	if len(v.Y) < reach(v.Rows, v.YRow, v.Pixels, v.YStep, v.C) || len(v.Bias) < v.C {
		panic(msgChannels)
	}
	if len(v.Taps) <= fewTaps {
		v.forwardFew()
	} else {
		v.forwardMany()
	}
}

// forwardFew is ForwardChannels for few taps, whose places take little memory to clear.
func (v *Channels) forwardFew() {
	var space [fewTaps]channelTap
	v.forward(noescape(&space)[:])
}

func (v *Channels) forwardMany() {
	var space [mostTaps]channelTap
	v.forward(noescape(&space)[:])
}

// forward computes the outputs, with memory for the places of taps.
func (v *Channels) forward(taps []channelTap) {
	x := reach(v.Rows, v.XRow, v.Pixels, v.XStep, v.C)
	for i, t := range v.Taps {
		if t.X < 0 || t.W < 0 || len(v.X) < t.X+x || len(v.W) < t.W+v.C {
			panic(msgChannels)
		}
		taps[i] = channelTap{4 * t.X, 4 * t.W}
	}
	v.checkRuns()
	raceRead(v.W)
	raceRead(v.Bias)
	for r := range v.Rows {
		raceWrite(v.Y[r*v.YRow:][:reach(1, 0, v.Pixels, v.YStep, v.C)])
	}
	if len(v.Taps) == 0 {
		for r := range v.Rows {
			for i := range v.Pixels {
				copy(v.Y[r*v.YRow+i*v.YStep:][:v.C], v.Bias)
			}
		}
		return
	}
	for r := range v.Rows {
		raceRead(v.X[r*v.XRow:][:reach(1, 0, v.Pixels, v.XStep, v.C)])
	}
	blocks, half := depthwises.split(v.C, v.Used)
	if blocks > 0 {
		v.rows(&depthwises, &taps[0], 0, blocks)
	}
	if half != nil {
		v.rows(half, &taps[0], blocks*Width, 1)
	}
}

// rows computes some blocks of channels from channel c on.
func (v *Channels) rows(t *depthwiseTable, taps *channelTap, c, blocks int) {
	f, tiled := t.row, 0
	switch v.Run {
	case 3:
		f, tiled = t.run3, v.Pixels/t.tile*t.tile
	case 5:
		f, tiled = t.run5, v.Pixels/t.tile*t.tile
	}
	rows := max(channelSums/(v.Pixels*len(v.Taps)*blocks), 1)
	for r := 0; r < v.Rows; r += rows {
		rows := min(rows, v.Rows-r)
		if tiled > 0 {
			callChannelRow(f, v, taps, c, blocks, r, rows, 0, tiled)
		}
		if tiled < v.Pixels {
			callChannelRow(t.row, v, taps, c, blocks, r, rows, tiled, v.Pixels-tiled)
		}
	}
}

// callChannelRow computes n pixels from pixel i on of some rows from row r on.
//
//go:noinline
func callChannelRow(f channelRow, v *Channels, taps *channelTap, c, blocks, r, rows, i, n int) {
	f(&v.Y[r*v.YRow+i*v.YStep+c], &v.X[r*v.XRow+i*v.XStep+c], &v.W[c], &v.Bias[c], taps, len(v.Taps), n, blocks, 4*v.YStep, 4*v.XStep,
		rows, 4*(v.YRow-blocks*Width), 4*(v.XRow-blocks*Width))
}

// checkRuns panics unless the taps are what Run says.
func (v *Channels) checkRuns() {
	if v.Run == 0 {
		return
	}
	for i, t := range v.Taps {
		if i%v.Run > 0 && t.X != v.Taps[i-1].X+v.XStep {
			panic(msgChannels)
		}
	}
	if len(v.Taps)%v.Run > 0 {
		panic(msgChannels)
	}
}

// BackwardChannels adds to the gradients of the weights. It panics if a slice is too
// short.
func BackwardChannels(v *ChannelsGrad) {
	if v.Images < 0 || v.Rows < 0 || v.Pixels < 0 || v.Used < 0 || v.C < v.Used || v.C%Width != 0 || v.Taps < 0 ||
		min(v.XImage, v.XRow, v.XStep, v.XTap, v.YImage, v.YRow, v.YStep, v.WTap) < 0 {
		panic(msgChannels)
	}
	if v.Rows == 0 || v.Pixels == 0 || v.C == 0 || v.Taps == 0 {
		return
	}
	images := max(v.Images, 1)
	if len(v.X) < (images-1)*v.XImage+(v.Taps-1)*v.XTap+reach(v.Rows, v.XRow, v.Pixels, v.XStep, v.C) ||
		len(v.DY) < (images-1)*v.YImage+reach(v.Rows, v.YRow, v.Pixels, v.YStep, v.C) || len(v.G) < (v.Taps-1)*v.WTap+v.C {
		panic(msgChannels)
	}
	raceRead(v.X)
	raceRead(v.DY)
	raceWrite(v.G)
	blocks, half := depthwises.split(v.C, v.Used)
	if blocks > 0 {
		v.add(&depthwises, 0, blocks)
	}
	if half != nil {
		v.add(half, blocks*Width, 1)
	}
}

// add adds to the gradients of some blocks of channels from channel c on.
func (v *ChannelsGrad) add(table *depthwiseTable, c, blocks int) {
	images := max(v.Images, 1)
	rows := min(max(mapBlock/(2*v.Pixels*blocks*Width), 1), v.Rows)
	several := 1 // whole images in a call
	if rows == v.Rows {
		several = max(mapBlock/(2*v.Rows*v.Pixels*blocks*Width), 1)
	}
	for t := 0; t < v.Taps; {
		f, n := table.one, 1
		switch left := v.Taps - t; {
		case left >= 5:
			f, n = table.five, 5
		case left >= 3:
			f, n = table.three, 3
		}
		for i := 0; i < images; i += several {
			for r := 0; r < v.Rows; r += rows {
				callChannelWeights(f, v, t, c, blocks, i, min(several, images-i), r, min(rows, v.Rows-r))
			}
		}
		t += n
	}
}

// callChannelWeights adds to the gradients from weight t on of some blocks of channels what rows from r on of images
// from i on add.
//
//go:noinline
func callChannelWeights(f channelWeights, v *ChannelsGrad, t, c, blocks, i, images, r, rows int) {
	f(&v.G[t*v.WTap+c], &v.X[t*v.XTap+i*v.XImage+r*v.XRow+c], &v.DY[i*v.YImage+r*v.YRow+c], 4*v.XTap, 4*v.WTap, rows, v.Pixels, blocks,
		4*v.XStep, 4*v.YStep, 4*(v.XRow-v.Pixels*v.XStep), 4*(v.YRow-v.Pixels*v.YStep), images, 4*(v.XImage-rows*v.XRow), 4*(v.YImage-rows*v.YRow))
}

// channelWeights is a loop over the gradients of one or more weights.
type channelWeights = func(gw, x, dy *float32, xTap, wTap, rows, pixels, channels, xStep, yStep, xNext, yNext, images, xImage, yImage int)
