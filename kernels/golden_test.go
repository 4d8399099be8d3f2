package kernels_test

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"hash"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

var update = flag.Bool("update", false, "write testdata/bits.golden anew")

const goldenFile = "testdata/bits.golden"

// run is one use of a kernel on fixed inputs: numbers hands out inputs, and out
// takes what the kernel returned.
type run struct {
	stream *kernels.Stream
	out    hash.Hash
}

// floats returns n numbers of different sizes, both zeros and infinities among
// them, which are the same on every machine.
func (r *run) floats(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		u := r.stream.Uint32()
		x[i] = float32(int32(u)) * 0x1p-31 * float32(int(4)<<(u%4))
		switch u >> 2 % 256 {
		case 0:
			x[i] = 0
		case 1:
			x[i] = float32(math.Copysign(0, -1))
		case 2:
			x[i] *= 0x1p-120
		}
	}
	return x
}

// unusual is floats with the values at which functions fail.
func (r *run) unusual(n int) []float32 {
	x := r.floats(n)
	for i := range x {
		if u := r.stream.Uint32(); u%8 == 0 {
			x[i] = unusual[u/8%uint32(len(unusual))]
		}
	}
	return x
}

// put takes results. All NaN are one: processors give them different signs.
func (r *run) put(x ...float32) {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		w := math.Float32bits(v)
		if v != v {
			w = 0x7fc00000
		}
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	r.out.Write(b)
}

func (r *run) putFloat64(x float64) {
	if x != x {
		x = math.NaN()
	}
	r.out.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
}

// goldenLengths have tails of all kinds; the largest takes two blocks of a
// reduction.
var goldenLengths = []int{1, 3, 4, 15, 16, 22, 37, 63, 64, 101, 255, 4500}

func eachUnary(f func(dst, src []float32)) func(r *run) {
	return func(r *run) {
		for _, n := range goldenLengths {
			dst := make([]float32, n)
			f(dst, r.unusual(n))
			r.put(dst...)
		}
	}
}

func eachBinary(f func(dst, a, b []float32)) func(r *run) {
	return func(r *run) {
		for _, n := range goldenLengths {
			dst := make([]float32, n)
			f(dst, r.unusual(n), r.unusual(n))
			r.put(dst...)
		}
	}
}

func goldenNN(r *run) {
	product := func(m, k, segs, n int, bias, accumulate, relu bool) {
		g := kernels.NN{
			M: m, N: n, K: k, Segs: segs, Lda: k - k/2, SegStride: 3 * k, Ldc: n + 3, Accumulate: accumulate,
			ReLU: relu,
		}
		g.A = r.floats((m-1)*g.Lda + (segs-1)*g.SegStride + k)
		g.B, g.C = r.floats(segs*k*n), r.floats(m*g.Ldc)
		if bias {
			g.Bias = r.floats(n)
		}
		kernels.GemmNN(&g)
		r.put(g.C...)
	}
	for m := 1; m <= 15; m++ {
		product(m, 1+m*5%23, 1+m%3, 16*(1+m%5), m%3 == 0, m%3 == 1, m%2 == 0)
	}
	for m := 1; m <= 3; m++ { // low tiles take several panels at a time
		for mode := range 3 {
			product(m, 11, 2, 16*7, mode == 1, mode == 2, m == 2)
		}
	}
}

func goldenTN(r *run) {
	for k := 1; k <= 15; k++ {
		m, segs, n := 1+k*7%19, 1+k%3, 16*(1+k%5)
		g := kernels.TN{M: m, K: k, N: n, Segs: segs, Lda: k, ASeg: m*k + 1, Ldg: n, GSeg: m * n, Accumulate: k%2 == 0}
		g.A, g.G, g.C = r.floats(segs*g.ASeg), r.floats(segs*g.GSeg), r.floats(k*n)
		kernels.GemmTN(&g)
		r.put(g.C...)
	}
}

func goldenNT(r *run) {
	for m := 1; m <= 14; m++ {
		k, n := 1+m*7%29, 16*(1+m%6)
		g := kernels.NT{M: m, K: k, N: n, Lda: n, LRows: kernels.Pad(k), Accumulate: m%2 == 0}
		g.A, g.B, g.L = r.floats(m*n), r.floats(k*n), r.floats(m*g.LRows*16)
		kernels.GemmNT(&g)
		sums := make([]float32, m*g.LRows)
		kernels.SumLanes(sums, g.L)
		r.put(g.L...)
		r.put(sums...)
	}
}

func goldenStep(r *run) {
	for k := 1; k <= 15; k++ {
		m, n := 1+k*7%19, 16*(1+k%5)
		s := kernels.TNStep{Step: kernels.SGD{
			W: r.floats(k * n), LR: 0.1, WeightDecay: 0.01, Momentum: 0.9, Mu: 0.3,
			First: k%5 == 0,
		}}
		s.Grad = kernels.TN{M: m, K: k, N: n, A: r.floats(m * k), Lda: k, G: r.floats(m * n), Ldg: n}
		if k%2 == 0 {
			s.Step.V = r.floats(k * n)
		}
		if k%3 == 0 {
			s.Step.Anchor = r.floats(k * n)
		}
		kernels.GemmTNStep(&s)
		r.put(s.Step.W...)
		r.put(s.Step.V...)
	}
}

func goldenSGD(r *run) {
	for i, n := range goldenLengths {
		s := kernels.SGD{W: r.floats(n), G: r.floats(n), LR: 0.1, WeightDecay: 0.01, Momentum: 0.9, Mu: 0.3, First: i%5 == 0}
		if i%2 == 0 {
			s.V = r.floats(n)
		}
		if i%3 == 0 {
			s.Anchor = r.floats(n)
		}
		for range 2 {
			kernels.SGDStep(&s)
		}
		r.put(s.W...)
		r.put(s.V...)
	}
}

func goldenNesterov(r *run) {
	for i, n := range goldenLengths {
		s := kernels.SGD{
			W: r.floats(n), G: r.floats(n), V: r.floats(n), LR: 0.1, WeightDecay: 0.01, Momentum: 0.9, Mu: 0.3,
			First: i%5 == 0, Nesterov: true,
		}
		if i%3 == 0 {
			s.Anchor = r.floats(n)
		}
		for range 2 {
			kernels.SGDStep(&s)
		}
		r.put(s.W...)
		r.put(s.V...)
	}
}

func goldenAdam(r *run) {
	for i, n := range goldenLengths {
		a := kernels.Adam{
			W: r.floats(n), G: r.floats(n), M: r.floats(n), V: make([]float32, n), Decay: 0.01, Mu: 0.3, Keep: 1 - float32(i)/64,
			Beta1: 0.9, Rest1: 0.1, Beta2: 0.999, Rest2: 0.001, Rate: 0.1, Scale: 1.5, Eps: 1e-8, First: i%5 == 0,
		}
		if i%3 == 0 {
			a.Anchor = r.floats(n)
		}
		for range 2 {
			kernels.AdamStep(&a)
		}
		r.put(a.W...)
		r.put(a.M...)
		r.put(a.V...)
	}
}

func goldenReduce(r *run) {
	for _, n := range goldenLengths {
		x, y := r.floats(n), r.floats(n)
		r.putFloat64(kernels.Dot(x, y))
		r.putFloat64(kernels.Norm(x))
		dst := r.floats(n)
		kernels.ColSum(dst, r.floats(3*n+7*2), 3, n, n+7)
		r.put(dst...)
	}
}

func goldenSoftmax(r *run) {
	const m = 4
	for i, n := range goldenLengths {
		ld := kernels.Pad(n) + 16*(i%2)
		logits, grad := r.floats(m*ld), make([]float32, m*ld)
		loss, correct := kernels.SoftmaxXent(grad, logits, ld, m, n, []int32{0, -1, int32(n - 1), int32(n / 2)}, 0.25)
		r.put(grad...)
		r.putFloat64(loss)
		r.put(float32(correct))
	}
}

func goldenLSTM(r *run) {
	for _, h := range []int{16, 32, 48, 144} {
		const m = 3
		l := kernels.LSTM{
			M: m, H: h, Gates: r.floats(4 * m * h), C: make([]float32, m*h), TanhC: make([]float32, m*h),
			HOut: make([]float32, m*h), Ldh: h,
		}
		if h != 32 {
			l.CPrev = r.floats(m * h)
		}
		kernels.LSTMForward(&l)
		for _, x := range [][]float32{l.Gates, l.C, l.TanhC, l.HOut} {
			r.put(x...)
		}
		b := kernels.LSTMGrad{
			M: m, H: h, Gates: l.Gates, CPrev: l.CPrev, TanhC: l.TanhC, DH: r.floats(m * h), Ldh: h,
			DC: r.floats(m * h), DGates: make([]float32, 4*m*h),
		}
		kernels.LSTMBackward(&b)
		r.put(b.DC...)
		r.put(b.DGates...)
	}
}

func goldenPool(r *run) {
	for _, size := range []int{2, 3} {
		p := kernels.Pool{OH: 3, OW: 5, C: 48, KH: size, KW: size, Stride: 2, SrcW: 12}
		p.Src, p.Dst, p.Idx = r.unusual(8*p.SrcW*p.C), make([]float32, p.OH*p.OW*p.C), make([]uint8, p.OH*p.OW*p.C)
		kernels.MaxPool(&p)
		r.put(p.Dst...)
		r.out.Write(p.Idx)
		p.Src, p.Dst = make([]float32, len(p.Src)), r.floats(len(p.Dst))
		kernels.MaxPoolBackward(&p)
		r.put(p.Src...)
	}
}

func goldenDropout(r *run) {
	for i, n := range goldenLengths {
		dst := make([]float32, n)
		kernels.Dropout(dst, r.floats(n), 0.25+float32(i)/32, r.stream.Uint64(), r.stream.Uint64())
		r.put(dst...)
	}
}

func goldenWinograd(r *run) {
	for tiles := 1; tiles <= 3; tiles++ {
		c := 16 * tiles
		rows := func() []float32 { return r.floats((2*tiles + 2) * c) }
		v := kernels.Tiles{Data: make([]float32, 16*tiles*c), Plane: tiles * c, Ld: c}
		kernels.WinogradInput(v, &[4][]float32{rows(), rows(), rows(), rows()}, c, tiles, c)
		r.put(v.Data...)
		kernels.WinogradSpread(v, &[2][]float32{rows(), rows()}, c, tiles, c)
		r.put(v.Data...)
		y := [2][]float32{make([]float32, 2*tiles*c), make([]float32, 2*tiles*c)}
		v.Data = r.floats(len(v.Data))
		kernels.WinogradOutput(&y, c, v, r.floats(c), tiles, c, tiles == 2)
		r.put(y[0]...)
		r.put(y[1]...)
		w := make([]float32, 9*c)
		kernels.WinogradGradient(w, c, v.Data, tiles*c, c)
		r.put(w...)
		kernels.WinogradWeights(v.Data, tiles*c, r.floats(9*c), c, c)
		r.put(v.Data...)
	}
}

func goldenNorm(r *run) {
	for w := 1; w <= 3; w++ {
		c := 16 * w
		n := kernels.ImageNorm{
			H: 3, W: w, C: c, ReLU: w == 2, XRow: w*c + 5, YRow: w * c, DXRow: w * c, X: r.floats(3*w*c + 10),
			Y: r.floats(3 * w * c), DX: make([]float32, 3*w*c),
			Value: r.floats(c), Shift: r.floats(c), Grad: r.floats(c), Sum: make([]float64, c), Inner: make([]float64, c),
		}
		kernels.NormSums(&n)
		kernels.NormBackward(&n)
		kernels.NormForward(&n)
		for i := range c {
			r.putFloat64(n.Sum[i])
			r.putFloat64(n.Inner[i])
		}
		r.put(n.DX...)
		r.put(n.Y...)
	}
}

func goldenCurve(c kernels.Curve) func(r *run) {
	return func(r *run) {
		for _, n := range goldenLengths {
			y, slope := make([]float32, n), make([]float32, n)
			kernels.Curves(c, y, slope, r.unusual(n))
			r.put(y...)
			r.put(slope...)
		}
	}
}

func goldenRowNorm(r *run) {
	for i, n := range goldenLengths {
		x, w, y := r.floats(n), r.floats(n), make([]float32, n)
		mean, scale := make([]float32, 1), make([]float32, 1)
		kernels.RowNormForward(&kernels.RowNorm{
			Rows: 1, N: n, X: x, Y: y, Weight: w, Bias: r.floats(n), Mean: mean,
			Scale: scale, Center: i%2 == 0, Epsilon: 1e-5,
		})
		g := kernels.RowNormGrad{
			Rows: 1, N: n, X: x, DY: r.floats(n), DX: make([]float32, n), Weight: w, WeightGrad: r.floats(n),
			BiasGrad: r.floats(n),
			Mean:     mean, Scale: scale, Center: i%2 == 0,
		}
		kernels.RowNormBackward(&g)
		r.put(mean[0], scale[0])
		for _, v := range [][]float32{y, g.DX, g.WeightGrad, g.BiasGrad} {
			r.put(v...)
		}
	}
}

func goldenChannels(r *run) {
	for i := range 6 {
		f, b := channelCase(i, func(n int) []float32 { return r.floats(n) })
		kernels.ForwardChannels(&f)
		kernels.BackwardChannels(&b)
		r.put(f.Y...)
		r.put(b.G...)
	}
}

type goldenRun struct {
	name string
	f    func(r *run)
}

// goldenRuns are in the order of the golden file, which ends with the other curves.
var goldenRuns = []goldenRun{
	{"gemm-nn", goldenNN},
	{"gemm-tn", goldenTN},
	{"exp", eachUnary(kernels.Exp)},
	{"sigmoid", eachUnary(kernels.Sigmoid)},
	{"tanh", eachUnary(kernels.Tanh)},
	{"relu-backward", eachBinary(kernels.ReLUBackward)},
	{"axpy", eachBinary(func(dst, a, b []float32) { copy(dst, a); kernels.Axpy(dst, 0.3, b) })},
	{"scale", eachUnary(func(dst, src []float32) { copy(dst, src); kernels.Scale(dst, -0.7) })},
	{"add", eachBinary(kernels.Add)},
	{"sub", eachBinary(kernels.Sub)},
	{"reduce", goldenReduce},
	{"sgd", goldenSGD},
	{"softmax-xent", goldenSoftmax},
	{"lstm", goldenLSTM},
	{"max-pool", goldenPool},
	{"dropout", goldenDropout},
	{"gemm-nt", goldenNT},
	{"gemm-step", goldenStep},
	{"winograd", goldenWinograd},
	{"norm", goldenNorm},
	{"nesterov", goldenNesterov},
	{"adam", goldenAdam},
	{"mul", eachBinary(kernels.Mul)},
	{"curve-0", goldenCurve(0)},
	{"row-norm", goldenRowNorm},
	{"channels", goldenChannels},
}

// goldenBlocks makes products in blocks, of pairs of which some rows overlap, and the gradients of
// their weights.
func goldenBlocks(r *run) {
	pairs := func(n int) []float32 {
		x := make([]float32, n)
		kernels.RoundPairs(x, r.floats(2*n))
		return x
	}
	for m := 1; m <= 20; m++ {
		k, n, segs := 1+m*7%45, 16*(1+m%6), 1+m%3
		a, c := pairs((m+segs)*k), r.floats(max(m, k)*n)
		g := kernels.NN{M: m, N: n, K: k, Segs: segs, A: a, Lda: k, SegStride: k, B: pairs(segs * k * n), C: c, Ldc: n}
		g.BF16, g.Blocks, g.Accumulate, g.ReLU = true, true, m%2 == 0, m%3 == 0
		kernels.GemmNN(&g)
		r.put(c...)
		t := kernels.TN{M: m, N: n, K: k, Segs: segs, A: a, Lda: k, ASeg: k, G: pairs((m + segs) * n), Ldg: n, GSeg: n, C: c}
		t.BF16, t.Blocks = true, true
		kernels.GemmTN(&t)
		r.put(c...)
	}
}

func init() {
	for c := kernels.Curve(1); c < kernels.Curve(kernels.NumCurves); c++ {
		goldenRuns = append(goldenRuns, goldenRun{fmt.Sprintf("curve-%d", c), goldenCurve(c)})
	}
	goldenRuns = append(goldenRuns, goldenRun{"gemm-blocks", goldenBlocks})
}

// TestGolden holds that every level of every architecture returns the bits
// that the golden file has a digest of.
func TestGolden(t *testing.T) {
	if *update {
		if err := os.WriteFile(goldenFile, []byte(digests()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(text), "\n")
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		got := strings.Split(digests(), "\n")
		if len(got) != len(want) {
			t.Fatalf("%s has %d lines, want %d", goldenFile, len(want), len(got))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("got %s, want %s", got[i], want[i])
			}
		}
	})
}

// digests returns a line for every run on the level in use.
func digests() string {
	var b strings.Builder
	for i, g := range goldenRuns {
		r := run{stream: kernels.NewStream(kernels.Key(1, uint64(i)), 0), out: sha256.New()}
		g.f(&r)
		fmt.Fprintf(&b, "%-14s%x\n", g.name, r.out.Sum(nil)[:16])
	}
	return b.String()
}
