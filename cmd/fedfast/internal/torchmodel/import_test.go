package torchmodel

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/methods"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/safetensors"
)

// job is a module that testdata/rounds.py imports.
type job struct {
	Script string `json:"script"`
	Class  string `json:"name"`
	Input  string `json:"input"`
	Out    string `json:"out"`
}

// networks are small ones as people write them.
var networks = []job{
	{"lenet.py", "", "1x28x28", ""},
	{"resnet.py", "", "3x16x16", ""},
	{"resnet.py", "ResNet(norm=nn.BatchNorm2d)", "3x16x16", ""},
	{"pools.py", "", "3x16x16", ""},
	{"features.py", "Features", "9", ""},
	{"features.py", "Steps", "12tokens", ""},
	{"features.py", "Normalized", "9", ""},
	{"charlstm.py", "NextChar(vocab=25)", "12tokens", ""},
	{"charlstm.py", "Words", "12tokens", ""},
	{"charlstm.py", "Words(layers=2)", "12tokens", ""},
	{"vit.py", "ViT", "3x16x16", ""},
	{"vit.py", "TextEncoder", "12tokens", ""},
	{"mobile.py", "", "3x16x16", ""},
	{"shuffle.py", "ShuffleNet", "3x12x12", ""},
	{"forward.py", "", "3x12x12", ""},
	{"series.py", "Wave", "1x97", ""},
	{"series.py", "Heart", "3x40", ""},
	{"series.py", "Activity", "3x20", ""},
	{"series.py", "Sensors", "3x1x32", ""},
	{"series.py", "TextCNN", "12tokens", ""},
	{"series.py", "Grey", "12x14", ""},
	{"series.py", "Windows", "3x12x13", ""},
	{"gates.py", "Gates", "3x12x13", ""},
	{"gates.py", "Both", "12tokens", ""},
	{"gates.py", "Both(nn.GRU, True)", "12tokens", ""},
	{"gates.py", "States", "12tokens", ""},
	{"gates.py", "Scaled", "12tokens", ""},
	{"packed.py", "Packed()", "12tokens", ""},
	{"packed.py", "Packed(layers=2, first=False)", "12tokens", ""},
	{"packed.py", "Packed(nn.GRU, 2)", "12tokens", ""},
	{"packed.py", "Sorted()", "12tokens", ""},
	{"packed.py", "Ends(True)", "12tokens", ""},
	{"packed.py", "Ends(False)", "12tokens", ""},
	{"packed.py", "Mean()", "12tokens", ""},
}

// lstm is a body of refusals.
const lstm = "self.e, self.l, self.f = nn.Embedding(9, 4), nn.LSTM(4, 5, batch_first=True), nn.Linear(5, 3)"

// refusals are modules that have no layers, and why.
var refusals = []struct{ input, body, forward, want string }{
	{
		"3x8x8", "self.conv, self.bn = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8, track_running_stats=False)",
		"self.bn(self.conv(x))",
		`module "bn" (nn.BatchNorm2d) has no running statistics; leave out track_running_stats=False`,
	},
	{
		"3x8x8", "self.a = nn.Sequential(nn.Conv2d(3, 8, 3), nn.PReLU())", "self.a(x)",
		`module "a.1" (nn.PReLU) is not supported as a layer, see fedfast list layers`,
	},
	{
		"3x8x8", "self.conv = nn.Conv2d(3, 8, 3, padding_mode='reflect')", "self.conv(x)",
		`module "conv" (nn.Conv2d) has padding_mode='reflect'; fedfast pads with zeros`,
	},
	{
		"3x8x8", "self.conv = nn.Conv2d(3, 8, 3, stride=(2, 1))", "self.conv(x)",
		`module "conv" (nn.Conv2d) has stride=(2, 1); rows and columns must have the same`,
	},
	{
		"3x8x8", "self.conv = nn.Conv2d(3, 8, (3, 5), padding=(1, 2))", "self.conv(x)",
		`module "conv" (nn.Conv2d) has padding=(1, 2); it must be the same on all sides`,
	},
	{
		"3x8x8", "self.conv, self.fc = nn.Conv2d(3, 3, 1), nn.Linear(3, 2)", "self.fc(self.conv(self.conv(x)).mean((2, 3)))",
		`module "conv" (nn.Conv2d) is used twice, and layers share no weights; make two modules of it`,
	},
	{
		"12tokens", "self.e, self.f = nn.Embedding(9, 4), nn.Linear(4, 9); self.f.weight = self.e.weight",
		"self.f(self.e(x))", `module "f" (nn.Linear) shares its weight with e.weight; an nn.Linear with bias=False can`,
	},
	{
		"12tokens", "self.e, self.f = nn.Embedding(9, 4), nn.Linear(4, 3)",
		"self.f((self.e(x) * (x != 0).unsqueeze(2)).sum(1))",
		`of what is masked there is the mean of its steps, (x * mask).sum(1) / mask.sum(1)`,
	},
	{
		"9", "self.fc = nn.Linear(9, 4)", "self.fc(x) @ torch.ones(4, 4)",
		`function matmul (line 12) is not supported as a layer; for attention use nn.MultiheadAttention`,
	},
	{
		"9", "self.fc = nn.Linear(8, 4)", "self.fc(x)",
		`Net does not take an input of shape 9 (channels first, as 3x32x32): mat1 and mat2 shapes cannot be multiplied`,
	},
	{
		"9", "self.fc = nn.Linear(9, 4)", "self.fc(x) if x.sum() > 0 else x",
		`symbolically traced variables cannot be used as inputs to control flow`,
	},
	{
		"12tokens", "self.e, self.l, self.f = nn.Embedding(9, 4), nn.LSTM(4, 5), nn.Linear(5, 3)",
		"self.f(self.l(self.e(x))[0][:, -1])", `module "l" (nn.LSTM) reads NxTxC; it must be one of TxNxC`,
	},
	{
		"12tokens", "self.e, self.l, self.f = nn.Embedding(9, 4), nn.LSTM(4, 5, bidirectional=True), nn.Linear(5, 3)",
		"self.f(self.l(nn.utils.rnn.pack_padded_sequence(self.e(x), x.ne(0).sum(1), True))[1][0][-1])",
		`reads a packed sequence in two directions`,
	},
	{
		"12tokens", "self.e, self.l, self.f = nn.Embedding(9, 4), nn.LSTM(4, 5), nn.Linear(5, 3)",
		"self.f(self.l(nn.utils.rnn.pack_padded_sequence(self.e(x), torch.tensor([12, 6, 3]), True))[1][0][-1])",
		`the lengths must be made of the tokens, (x != 0).sum(1)`,
	},
	{
		"12tokens", "self.e, self.l, self.f = nn.Embedding(9, 4), nn.LSTM(4, 5), nn.Linear(5, 3)",
		"self.f(nn.utils.rnn.pad_packed_sequence(self.l(nn.utils.rnn.pack_padded_sequence(self.e(x), (x > 0).sum(1), True))[0], True)[0].mean(1))",
		`function mean (line 12) reads what pad_packed_sequence gives, which has zeros after each end`,
	},
	{
		"12tokens", lstm, "self.f(self.l(self.e(x[(x != 0).sum(1).argsort()]))[0][:, -1])",
		`the module sorts the samples by length and returns them so; undo it, or pack with enforce_sorted=False`,
	},
	{
		"9", "self.fc = nn.Linear(9, 4)", "F.dropout(self.fc(x), 0.5)",
		`drops values outside of training, too: call it with training=self.training, or make nn.Dropout in __init__`,
	},
	{"9", "self.fc = nn.Linear(9, 4)", "F.dropout(self.fc(x), 0.5, True)", `F.dropout (line `},
	{
		"9", "self.fc = nn.Linear(9, 4)", "self.fc(x) + torch.rand(4)",
		`predicts something else each time, also with eval()`,
	},
	{
		"12", "self.e, self.f = nn.Embedding(9, 4), nn.Linear(4, 3)", "self.f(self.e(x).mean(1))",
		`Net reads tokens, by nn.Embedding: say --input 12tokens`,
	},
	{
		"9", "self.fc = nn.Linear(9, 4)", "F.softmax(self.fc(x), 1)",
		`function softmax (line 12) is not supported as a layer; return the logits`,
	},
	{
		"9", "self.fc = nn.Linear(9, 4)", "self.fc(x) + 3",
		`the module adds a constant to its outputs, which no layer supports`,
	},
	{
		"9", "self.fc = nn.Linear(9, 4)", "F.relu6(self.fc(x) + 3) / 5",
		`function truediv (line 12) is not supported as a layer; of x + 3 there are relu6(x + 3) / 6`,
	},
	{
		"9", "self.fc = nn.Linear(9, 4)", "-3 * self.fc(x)",
		`multiplies by -3; there is a product of a layer's outputs and a number above 0`,
	},
	{
		"4x8x8", "self.conv, self.fc = nn.Conv2d(2, 3, 1), nn.Linear(3, 2)", "self.fc(self.conv(x[:, :2]).mean((2, 3)))",
		`takes channels of the input; only channels of a layer's outputs can be taken`,
	},
	{
		"9", "self.fc = nn.Linear(9, 4)", "(self.fc(x), x)",
		`Net returns a tuple; a network returns one tensor, an output for each class: import a module whose forward returns that part alone`,
	},
	{"9", "self.fc = nn.Linear(9, 4)", "{'logits': self.fc(x)}", `Net returns a dict; a network returns one tensor`},
	{"9", "self.fc = nn.Linear(9, 4)", "nn.Dropout(0.5)(self.fc(x))", `or make nn.Dropout in __init__`},
	{
		"9", "self.fc = nn.Linear(9, 4)", "nn.Linear(4, 3)(self.fc(x))",
		`Net predicts something else each time, also with eval()`,
	},
	{
		"9", "self.fc = nn.Linear(9, 4)", "nn.BatchNorm1d(4)(self.fc(x))",
		`forward makes nn.BatchNorm1d, whose weights are new each time; make it in __init__`,
	},
	{
		"12tokens", lstm, "self.f(self.l(self.e(x))[1][1][-1])",
		`function getitem (line 12) reads the cell state of an LSTM, which no layer gives; read the hidden state`,
	},
	{"12tokens", lstm, "self.f((lambda h, c: h[-1] + c[-1])(*self.l(self.e(x))[1]))", `reads the cell state of an LSTM`},
	{"12tokens", lstm, "self.f(self.l(self.e(x))[1][1].squeeze(0))", `function squeeze (line 12) reads the cell state of an LSTM`},
	{
		"12tokens", lstm, "self.f(torch.cat([s[-1] for s in self.l(self.e(x))[1]], 1)[:, :5])",
		`reads the cell state of an LSTM`,
	},
	{
		"12tokens", lstm, "(lambda e: self.f(self.l(e, self.l(e)[1])[0][:, -1]))(self.e(x))",
		`module "l" (nn.LSTM) starts from a state that is not 0`,
	},
	{
		"3x8x8", "self.pool, self.fc = nn.AvgPool2d(4, divisor_override=3), nn.Linear(12, 4)",
		"self.fc(self.pool(x).flatten(1))",
		`module "pool" (nn.AvgPool2d) has divisor_override, which no layer supports; leave it out, and multiply by 16/3 after it`,
	},
	{
		"3x8x8", "self.fc = nn.Linear(12, 4)", "self.fc(F.avg_pool2d(x, 4, 4, 0, False, True, 3).flatten(1))",
		`function avg_pool2d (line 12) has divisor_override`,
	},
	{
		"3x8x8", "self.pool, self.fc = nn.MaxPool2d(4, return_indices=True), nn.Linear(12, 4)",
		"self.fc(self.pool(x)[0].flatten(1))", `module "pool" (nn.MaxPool2d) is not supported as a layer`,
	},
	{
		"9", "self.fc, self.g = nn.Linear(9, 4), nn.Linear(9, 1)", "self.fc(x) * self.g(x)",
		`there are products of two layers of one shape`,
	},
}

// notes are what the import says of modules that have more than their layers.
var notes = []struct{ input, body, forward, want string }{
	{
		"9", "self.fc, self.aux = nn.Linear(9, 4), nn.Linear(9, 4)", "self.fc(x)",
		"the weights have no aux.weight, aux.bias, as the module's class has: load_state_dict takes them with strict=False",
	},
	{
		"12tokens", "self.e, self.f = nn.Embedding(9, 4), nn.Linear(4, 9, bias=False)\n        self.f.weight = self.e.weight",
		"self.f(self.e(x).mean(1))",
		"the weights have no f.weight, as the module's class has",
	},
	{
		"12tokens", "self.e, self.p, self.f = nn.Embedding(9, 4), nn.Embedding(20, 4), nn.Linear(4, 3)",
		"self.f((self.e(x) + self.p(torch.arange(12))).mean(1))",
		"the weights have no p.weight, as the module's class has",
	},
	{
		"12tokens", "self.e, self.p, self.f = nn.Embedding(9, 4), nn.Embedding(12, 4), nn.Linear(4, 3)",
		"self.f((self.e(x) + 2 * self.p(torch.arange(12))).mean(1))",
		"the weights have no p.weight, as the module's class has",
	},
}

// TestImport imports the networks and trains each for a round, here and in PyTorch.
// What has been trained predicts the same in PyTorch after an export, and in the module
// itself once load_state_dict has read it. Modules without a layer are named, in one line.
func TestImport(t *testing.T) {
	py, dir := needTorch(t), t.TempDir()
	var jobs []job
	add := func(j job) {
		j.Out = filepath.Join(dir, fmt.Sprint("out", len(jobs)))
		if err := os.Mkdir(j.Out, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := writeRegistered(filepath.Join(j.Out, "layers.json")); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	for _, j := range networks {
		j.Script = filepath.Join("testdata", "networks", j.Script)
		add(j)
	}
	for i, r := range slices.Concat(refusals, notes) {
		script := filepath.Join(dir, fmt.Sprintf("net%d.py", i))
		text := "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        " + r.body +
			"\n\n    def forward(self, x):\n        return " + r.forward + "\n"
		if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		add(job{Script: script, Input: r.input})
	}
	list := writeJSON(t, filepath.Join(dir, "jobs.json"), jobs)
	if out, err := exec.Command(py, filepath.Join("testdata", "rounds.py"), "import.py",
		list).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, r := range refusals {
		text, err := os.ReadFile(filepath.Join(jobs[len(networks)+i].Out, "error.txt"))
		if err != nil || !strings.Contains(string(text), r.want) || strings.Contains(string(text), "\n") {
			t.Errorf("%s: %q, %v; want %s", r.body, text, err, r.want)
		}
	}
	for i, n := range notes {
		var made written
		readJSON(t, filepath.Join(jobs[len(networks)+len(refusals)+i].Out, "model.json"), &made)
		if !strings.Contains(strings.Join(made.Notes, "\n"), n.want) {
			t.Errorf("%s: notes %q; want %s", n.body, made.Notes, n.want)
		}
	}
	var folders []string
	predicted := map[string][]float32{}
	for _, j := range jobs[:len(networks)] {
		t.Run(j.Script+" "+j.Class, func(t *testing.T) {
			m, w := trainedAsTorch(t, j)
			b := drawBatch(m, 4)
			for k, id := range b.Tokens { // 0 pads, after the text
				b.Tokens[k] = max(id, 1)
			}
			clear(b.Tokens[max(0, len(b.Tokens)-3):])
			exported(t, j.Out, m, w, b)
			folders, predicted[j.Out] = append(folders, j.Out), outputs(m, w, b)
		})
	}
	if out, err := exec.Command(py, append([]string{filepath.Join("testdata", "predict.py")},
		folders...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list = writeJSON(t, filepath.Join(dir, "jobs.json"), jobs[:len(networks)])
	if out, err := exec.Command(py, filepath.Join("testdata", "load.py"), "import.py", list).CombinedOutput(); err != nil {
		t.Fatalf("load_state_dict of the module itself: %v\n%s", err, out)
	}
	for _, folder := range folders {
		near(t, filepath.Base(folder)+" exported after the round", readFloats(t, filepath.Join(folder, "outputs.f32")),
			predicted[folder])
		near(t, filepath.Base(folder)+" loaded into its own class", readFloats(t, filepath.Join(folder, "own.f32")),
			asWritten(t, folder, predicted[folder]))
	}
}

// asWritten returns outputs as the module gives them, of which an import leaves log_softmax out.
func asWritten(t *testing.T, folder string, y []float32) []float32 {
	t.Helper()
	var made written
	readJSON(t, filepath.Join(folder, "model.json"), &made)
	if !made.LogSoftmax {
		return y
	}
	for row := range slices.Chunk(y, made.Classes) {
		sum := 0.0
		for _, x := range row {
			sum += math.Exp(float64(x))
		}
		for i := range row {
			row[i] -= float32(math.Log(sum))
		}
	}
	return y
}

func writeJSON(t *testing.T, path string, x any) string {
	t.Helper()
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readJSON(t *testing.T, path string, x any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, x)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// exported writes a model as model export does, and an input.
func exported(t *testing.T, dir string, m *nn.Model, w []float32, b *nn.Batch) {
	t.Helper()
	text, err := Export(m, "model.safetensors", "")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if err := safetensors.Write(f, m, w); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{"model.py": []byte(text), "input.json": inputOf(m, b)} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// trainedAsTorch reads an imported network, trains it for the round that PyTorch has
// trained, compares the change of every tensor, and returns it.
func trainedAsTorch(t *testing.T, j job) (*nn.Model, []float32) {
	t.Helper()
	if why, err := os.ReadFile(filepath.Join(j.Out, "error.txt")); err == nil {
		t.Fatalf("it is refused: %s", why)
	}
	var made written
	readJSON(t, filepath.Join(j.Out, "model.json"), &made)
	i, err := made.read(j.Out)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("predictions differ by %.2g", i.Difference)
	m := i.Model.WithStart(i.Weights)
	var given struct {
		Values []float32 `json:"values"`
		Labels []int32   `json:"labels"`
		Sizes  []int     `json:"sizes"`
	}
	readJSON(t, filepath.Join(j.Out, "data.json"), &given)
	e, err := fl.New(fl.Config{
		Model: m, Data: federation(m, given.Values, given.Labels, given.Sizes),
		Method: methods.FedAvg(), Cohort: len(given.Sizes), Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	tr := e.NewTrial(0)
	client, server := methods.FedAvg().Defaults()
	client.LR, client.Momentum, client.Epochs, client.Batch = 0.05, 0.9, 3, 100
	if _, err := tr.Round(t.Context(), fl.Plan{Server: server, Clients: []fl.ClientParams{client}}); err != nil {
		t.Fatal(err)
	}
	want := readFloats(t, filepath.Join(j.Out, "trained.f32"))
	got, before := map[string]nn.Tensor{}, map[string]nn.Tensor{}
	for _, x := range m.Export(tr.Weights()) {
		got[x.Name] = x
	}
	for _, x := range m.Export(i.Weights) {
		before[x.Name] = x
	}
	for _, x := range made.Tensors {
		var diff, norm float64
		after, start := got[x.Name].Data, before[x.Name].Data
		for k, v := range want[:len(after)] {
			diff += math.Pow(float64(after[k])-float64(v), 2)
			norm += math.Pow(float64(v)-float64(start[k]), 2)
		}
		want = want[len(after):]
		if diff, norm = math.Sqrt(diff), math.Sqrt(norm); !(diff <= 2e-3*norm+1e-6) {
			t.Errorf("%s: the change of the round differs by %.3g of %.3g", x.Name, diff, norm)
		}
	}
	if len(want) > 0 {
		t.Errorf("PyTorch trained %d values more", len(want))
	}
	return m, tr.Weights()
}

// federation deals examples in PyTorch's order to clients.
func federation(m *nn.Model, values []float32, labels []int32, sizes []int) *data.Federation {
	in := m.Input()
	fed := &data.Federation{
		Name: "drawn", Classes: m.Classes(), H: in.H, W: in.W, C: in.C, SeqLen: in.Seq,
		Vocab: in.Vocab,
	}
	each := in.Size() + in.Seq
	if in.Seq > 0 {
		fed.Kind = data.Tokens
	}
	at := 0
	for i, n := range sizes {
		part, labels := values[at*each:(at+n)*each], labels[at:at+n]
		at += n
		var v data.View
		if in.Seq > 0 {
			rows := make([]uint16, len(part))
			for k, x := range part {
				rows[k] = uint16(x)
			}
			v = data.TokenView(in.Seq, rows, labels)
		} else {
			x := make([]float32, 0, len(part))
			for k := range n {
				for p := range in.H * in.W {
					for c := range in.C {
						x = append(x, part[k*each+c*in.H*in.W+p])
					}
				}
			}
			v = data.VectorView(each, x, labels)
		}
		none := v.Part(0, 0)
		fed.Clients = append(fed.Clients, data.Client{ID: strconv.Itoa(i), Train: v, Val: none, Test: none})
	}
	return fed
}
