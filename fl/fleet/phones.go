package fleet

import (
	"sort"

	"github.com/fedfast/fedfast/kernels/det"
)

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
