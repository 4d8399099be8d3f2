package fleet

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels/det"
)

// most is the largest slowdown of zipf.
const most = 1000

// setDevices makes the rows of which clients have one, and the distribution of speeds.
func (f *Fleet) setDevices(clients []Client) error {
	c := &f.cfg
	name, err := kind("fleet.devices", c.Devices, Kinds, file)
	if err != nil {
		return err
	}
	first := f.class(0)
	f.rows = []row{first}
	switch name {
	case "lognormal":
		sigma := cmp.Or(c.Sigma, 1)
		f.speed = func(u float64) float64 { return first.FLOPS * det.Exp(sigma*probit(u)) }
	case "exponential":
		f.speed = func(u float64) float64 { return first.FLOPS / -det.Log(u) }
	case "pareto":
		f.speed = func(u float64) float64 { return first.FLOPS * det.Exp(det.Log(u)/cmp.Or(c.Exponent, 2)) }
	case "zipf":
		f.rows = make([]row, most)
		shares := make([]float64, most)
		for i := range f.rows {
			slower := float64(most - i)
			f.rows[i] = first
			f.rows[i].FLOPS /= slower
			shares[i] = det.Exp(-cmp.Or(c.Exponent, 2) * det.Log(slower))
		}
		f.upto = sums(shares)
	case "classes":
		f.setClasses()
	case "phones":
		f.speed, f.apart, f.rows = phoneSpeed, true, nil
		for _, l := range links {
			r := row{down: deviation(l[1] / l[0]), up: deviation(l[3] / l[2])}
			r.Down, r.Up, r.Memory = l[0]*1000, l[2]*1000, first.Memory
			f.rows = append(f.rows, r)
		}
	case file:
		if err := f.readDevices(clients); err != nil {
			return err
		}
	}
	if c.BF16 && c.BF16Speedup > 0 {
		for i := range f.rows {
			f.rows[i].FLOPS *= c.BF16Speedup
		}
		if speed := f.speed; speed != nil {
			f.speed = func(u float64) float64 { return float64(c.BF16Speedup * speed(u)) }
		}
	}
	return nil
}

// class returns the device of a class; the lists have one value, or one for each.
func (f *Fleet) class(i int) row {
	value := func(list []float64, standard float64) float64 {
		if len(list) == 0 {
			return standard
		}
		return list[min(i, len(list)-1)]
	}
	c, d := &f.cfg, DefaultDevice()
	jitter, flops := deviation(c.Jitter), value(c.FLOPS, d.FLOPS)
	if len(c.SecondsPerSample) > 0 {
		flops = c.SampleFLOPs / value(c.SecondsPerSample, 1)
	}
	return row{Device{flops, value(c.Down, d.Down), value(c.Up, d.Up), value(c.Memory, d.Memory)}, jitter, jitter}
}

// setClasses makes a row of each class, from the slowest.
func (f *Fleet) setClasses() {
	order := list.Made(len(f.cfg.Shares), func(i int) int { return i })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.class(a).FLOPS, f.class(b).FLOPS) })
	var shares []float64
	f.rows = nil
	for _, i := range order {
		f.rows, shares = append(f.rows, f.class(i)), append(shares, f.cfg.Shares[i])
	}
	f.upto = sums(shares)
}

// sums returns the sums of the shares up to each, as parts of all.
func sums(shares []float64) []float64 {
	upto, sum := make([]float64, len(shares)), 0.0
	for i, s := range shares {
		sum += s
		upto[i] = sum
	}
	for i := range upto {
		upto[i] /= sum
	}
	return upto
}

// deviation returns the deviation of the logarithm of a log-normal number whose own is a
// share of its mean.
func deviation(share float64) float64 { return math.Sqrt(det.Log(1 + float64(share*share))) }

// device returns a client's row.
func (f *Fleet) device(client int) row {
	var i int
	var u float64
	if f.speed != nil || f.of == nil && len(f.rows) > 1 {
		u = f.quantile(client)
	}
	switch {
	case f.of != nil:
		i = int(f.of[client])
	case len(f.rows) == 1:
	case f.apart:
		i = f.below(drawLink, client, len(f.rows))
	case f.upto != nil:
		i = min(sort.SearchFloat64s(f.upto, u), len(f.rows)-1)
	default:
		i = min(int(u*float64(len(f.rows))), len(f.rows)-1)
	}
	r := f.rows[i]
	if f.speed != nil {
		r.FLOPS = f.speed(u)
	}
	return r
}

// quantile returns where a client's speed is among all that there may be, in (0, 1).
func (f *Fleet) quantile(client int) float64 {
	u := f.unit(drawSpeed, client, 0)
	if f.rank != nil {
		u = min((float64(f.rank[client])+u)/float64(f.clients), 1-0x1p-53)
	}
	return u
}

// Device returns the mean speed of a client's device.
func (f *Fleet) Device(client int) Device { return f.device(client).Device }

// ranks returns the rank of each client's speed, from the slowest: that of a normal number
// which has the correlation with one of the rank of the client's samples. Clients with
// equally many samples are in a random order.
func (f *Fleet) ranks(clients []Client) []int32 {
	rho := f.cfg.Correlation
	own := math.Sqrt(1 - float64(rho*rho))
	order := list.Made(len(clients), func(i int) int32 { return int32(i) })
	scores := list.Made(len(clients), func(i int) float64 { return f.unit(drawTie, i, 0) })
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(clients[a].Samples, clients[b].Samples), cmp.Compare(scores[a], scores[b]), cmp.Compare(a, b))
	})
	for i, client := range order {
		z := probit((float64(i) + 0.5) / float64(len(order)))
		scores[client] = float64(rho*z) + float64(own*probit(f.unit(drawScore, int(client), 0)))
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(scores[a], scores[b]), cmp.Compare(a, b)) })
	rank := make([]int32, len(order))
	for i, client := range order {
		rank[client] = int32(i)
	}
	return rank
}

// The fleet phones. Measured are the links of 19 users, the scores of 279 phones, and the
// time of a batch on three phones; the rest is interpolation. The tables of FLASH (Yang
// et al., WWW 2021) come from github.com/PKU-Chengxu/FLASH at 55cbede, BSD-2-Clause.

// links are the users' mean speed and standard deviation, down and up, in kB/s
// (models/speed_distri.json).
var links = [...][4]float64{
	{7491.4, 3369.3, 4935.2, 2767.3},
	{4054.8, 1819.5, 3006.2, 890.1},
	{2370.2, 1388.2, 2774.2, 1096.9},
	{9913.0, 1551.0, 6635.4, 1459.5},
	{4208.7, 1481.6, 2974.5, 833.2},
	{3778.5, 2843.4, 2631.6, 1576.4},
	{3472.7, 1276.7, 5140.6, 2277.4},
	{4668.4, 612.6, 3205.5, 419.4},
	{3297.7, 771.3, 2336.6, 1609.9},
	{4283.6, 1561.0, 3641.6, 1495.0},
	{3658.1, 1315.9, 2546.9, 1089.0},
	{7214.1, 3363.2, 4039.7, 2189.0},
	{8885.5, 1999.1, 6278.6, 489.1},
	{5125.0, 2087.6, 3729.8, 461.5},
	{7271.3, 1914.0, 5742.5, 1964.1},
	{4317.6, 1265.0, 3285.7, 1018.3},
	{6708.1, 6738.5, 664.6, 312.0},
	{17332.7, 11181.6, 5641.5, 2549.8},
	{3176.8, 1838.0, 431.0, 157.7},
}

// slowest is the least speed of a transfer of a phone, in bytes a second.
const slowest = 1000

// scores are quantiles of the AI-Benchmark scores of 279 phones: of 1,000 users' phones
// (github.com/AymenOML/FedPylot_Client_Selection at e30fbc7), those whose model FLASH
// lists (device_util/benchmark2score.json).
var scores = curve{
	at: []float64{0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1},
	is: []float64{511, 947, 991, 1569, 1775, 2531, 2892, 3127, 4132, 6284, 7974, 8572, 25333},
}

// batchFLOPs are the operations of a batch of LEAF's FEMNIST network, 17.2 million
// multiply-adds an example forward and twice that backward. That FLASH's batch had 10
// examples is not verified: speeds are in proportion to it.
const batchFLOPs = 10 * 3 * 2 * 17.2e6

// batchTime is the logarithm of the milliseconds of a batch by that of the score, of Nexus
// S, Redmi Note 7 Pro and Pixel 4 (device_util.py, femnist_mean). Time is not inverse
// to the score: with a score 17 times higher, a phone takes a third of the time.
var batchTime = curve{
	at: []float64{det.Log(383), det.Log(6702), det.Log(33289)},
	is: []float64{det.Log(1642), det.Log(588), det.Log(179)},
}

// phoneSpeed returns the operations a second of the phone at a quantile of scores.
func phoneSpeed(u float64) float64 {
	ms := det.Exp(batchTime.value(det.Log(scores.value(u))))
	return batchFLOPs / float64(ms*1e-3)
}

// curve is a function between points, straight from each to the next and constant
// outside.
type curve struct{ at, is []float64 }

func (c curve) value(x float64) float64 {
	i := sort.SearchFloat64s(c.at, x)
	switch i {
	case 0:
		return c.is[0]
	case len(c.at):
		return c.is[i-1]
	}
	share := (x - c.at[i-1]) / (c.at[i] - c.at[i-1])
	return c.is[i-1] + float64(share*(c.is[i]-c.is[i-1]))
}

// chargingShare is the share of about a week for which those 1,000 phones were charging,
// 98,995 of 604,800 seconds on average.
const chargingShare = 0.16
