package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrongKeys(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Devices: "phone"}, `fleet.devices = "phone": must be one of equal, lognormal`},
		{Config{Devices: "phone"}, `did you mean "phones"?`},
		{
			Config{Availability: "night"},
			`fleet.availability = "night": must be one of always, daily, markov, or the path of a .csv file`,
		},
		{
			Config{Sigma: 2},
			`fleet.sigma: not used by a fleet with devices = "equal" and availability = "always"; leave it out`,
		},
		{Config{FLOPS: []float64{1, 2}}, "fleet.flops: 2 numbers; must be a single number"},
		{
			Config{FLOPS: []float64{1}, SecondsPerSample: []float64{1}},
			"fleet.seconds_per_sample: cannot be used with fleet.flops; leave one of them out",
		},
		{
			Config{SecondsPerSample: []float64{1, 2}, SampleFLOPs: 1},
			"fleet.seconds_per_sample: 2 numbers; must be a single number",
		},
		{
			Config{SecondsPerSample: []float64{1}},
			"fleet.seconds_per_sample: the operations of the model for a sample are not known; use fleet.flops",
		},
		{Config{Devices: "classes"}, `fleet.shares: required by fleet.devices = "classes", such as [0.5, 0.3, 0.2]`},
		{
			Config{Devices: "classes", Shares: []float64{1, 2}, Up: []float64{1, 2, 3}},
			"fleet.up: 3 numbers; must be a single number, or have one for each of the 2 fleet.shares",
		},
		{Config{FLOPS: []float64{-1}}, "fleet.flops = -1: must be a finite number > 0"},
		{Config{Dropout: 1.5}, "fleet.dropout = 1.5: must be in [0, 1]"},
		{Config{Correlation: 0.5}, "fleet.correlation: not used"},
		{
			Config{Devices: "a.csv", Correlation: 0.5},
			`fleet.correlation: the file says which client has which device; leave it out, or set fleet.assign = "draw"`,
		},
		{Config{Devices: "none.csv"}, "fleet.devices: open none.csv: no such file"},
	} {
		_, err := New(c.cfg, 1, people(3))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s", c.cfg, err, c.want)
		}
	}
}

func TestWrongFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.csv")
	for _, c := range []struct{ text, want string }{
		{"", "f.csv: no rows below the first line"},
		{
			"client,flops\n",
			`f.csv:1: the first line is "client,flops"; must be client,flops,down,up, or client,flops,down,up,memory, or client,seconds_per_sample,down,up, or`,
		},
		{
			"client,seconds_per_sample,down,up\nc0,0.1,2,3\n",
			"f.csv:2: seconds_per_sample: the operations of the model for a sample are not known; use flops",
		},
		{"client,flops,down,up\n", "f.csv: no rows below the first line"},
		{"client,flops,down,up\nc0,1,2\n", "f.csv:2: 3 columns; must be 4: client,flops,down,up"},
		{"client,flops,down,up\nc0,1,2,3\n\nc1,1,x,3\n", `f.csv:4: down = "x": must be a finite number`},
		{"client,flops,down,up\nc0,1,2,NaN\n", `f.csv:2: up = "NaN": must be a finite number`},
		{"client,flops,down,up\nc0,0,2,3\n", "f.csv:2: flops = 0: must be greater than 0"},
		{"client,flops,down,up\nc0,1,2,3\nc0,1,2,3\n", `f.csv:3: client "c0" has two rows; leave one out`},
		{
			"client,flops,down,up\nc0,1,2,3\n",
			`f.csv: no row for client "c1" of the dataset; add one, or set fleet.assign = "draw"`,
		},
		{"client,flops,down,up\n,1,2,3\n", "f.csv:2: client has 0 characters"},
		{"client,flops,down,up\n\"c0,1,2,3\n", "f.csv:2: extraneous or missing \" in quoted-field"},
		{"client,flops,down,up\nc0," + strings.Repeat("1,", 1<<20) + "2\n", "f.csv: line 2 is longer than 1048576 bytes"},
		{"client,start,end\nc0,5,5\n", "f.csv:2: end = 5: must be after start = 5"},
		{"client,start,end\nc0,-1,5\n", "f.csv:2: start = -1: must be 0 or more"},
		{"client,start,end\nc0,1,5\nc1,0,1\nc0,4,6\n", `f.csv:4: start = 4: the interval before of client "c0" ends later`},
		{"client,start,end\nc0,1,11\n", "f.csv:2: end = 11: must be at most fleet.period = 10"},
	} {
		write(t, path, c.text)
		cfg, what := Config{Devices: path}, "fleet.devices: "
		if strings.HasPrefix(c.text, "client,start") {
			cfg, what = Config{Availability: path, Period: 10}, "fleet.availability: "
		}
		_, err := New(cfg, 1, people(2))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), what) {
			t.Errorf("%.200q: got %v, want %s", c.text, err, c.want)
		}
	}
}

func TestDevicesOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.csv")
	text := "\ufeffclient,flops,down,up\r\nother,9,9,9\r\nc1, 4,5,6\r\nc0,1,2,3\r\n"
	write(t, path, text)
	f := made(t, Config{Devices: path}, 1, 2)
	if f.Device(0) != (Device{1, 2, 3, math.Inf(1)}) || f.Device(1) != (Device{4, 5, 6, math.Inf(1)}) {
		t.Errorf("got %v and %v", f.Device(0), f.Device(1))
	}
	print, err := Config{Devices: path}.Fingerprint()
	sum := sha256.Sum256([]byte(text))
	if want := hex.EncodeToString(sum[:]); print != want || err != nil {
		t.Errorf("fingerprint %s, %v, want %s", print, err, want)
	}
	draw := made(t, Config{Devices: path, Assign: "draw", Correlation: 1}, 1, 50) // by samples
	if draw.Device(0) != (Device{1, 2, 3, math.Inf(1)}) || draw.Device(49) != (Device{9, 9, 9, math.Inf(1)}) {
		t.Errorf("drawn: got %v and %v", draw.Device(0), draw.Device(49))
	}
}

// Nothing that a file may hold makes a fleet crash.
func FuzzFiles(f *testing.F) {
	f.Add("client,flops,down,up\nc0,1,2,3\nc1,1e300,1e-300,3\n")
	f.Add("client,start,end\nc0,1,2\nc1,0,1e30\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "f.csv")
		write(t, path, text)
		for _, cfg := range []Config{{Devices: path}, {Availability: path, Assign: "draw", Offline: "pause"}} {
			fleet, err := New(cfg, 1, people(2))
			if err != nil {
				continue
			}
			o := fleet.Run(Job{Client: 1, FLOPs: 1e9, Down: 1e6, Up: 1e6})
			if o.Received < 0 || o.Computed < o.Received || o.End < o.Computed {
				t.Errorf("%q: %+v", text, o)
			}
		}
	})
}
