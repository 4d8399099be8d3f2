// Package measure has the measures by which classifiers are judged beside their error, over the probabilities
// that they give. It follows the definitions of scikit-learn, with which its tests compare.
package measure

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/kernels/det"
)

// names are all measures in the order in which they are shown, how people write them, and whether they are among
// those that tell the most of two classes, or of more:
//
//	roc_auc            area under the ROC curve, ties count half (Mann and Whitney 1947)
//	roc_auc_weighted   the same mean over the classes, weighted by their samples
//	pr_auc             average precision: the sum of (R_n - R_(n-1)) P_n over the thresholds
//	f1                 of the second of two classes, or the mean over more (macro)
//	f1_micro           of all decisions together, which is the accuracy
//	balanced_accuracy  mean recall of the classes that occur
//	mcc                Matthews' correlation coefficient (Gorodkin 2004), 0 for 0 / 0
//	brier              mean (p - y)^2 of the second of two classes; of more, summed over them
//	log_loss           mean -ln p of the true class, p within [2^-52, 1 - 2^-52]
//	ece                calibration error in 15 equal bins of the top probability (Guo et al. 2017)
//	label_accuracy     of tags: the share of right decisions, at p >= 0.5
//	mean_ap            of tags: the mean average precision over those that some samples have and some lack
//
// Of more than two classes, the areas are means over the classes, each against the rest, of those that occur and
// of which others occur, and F1 is the mean over the classes that occur or are predicted.
var names = []struct {
	name, title string
	two, more   bool
}{
	{"roc_auc", "ROC AUC", true, true},
	{"roc_auc_weighted", "ROC AUC, weighted", false, false},
	{"pr_auc", "PR AUC", true, false},
	{"f1", "F1", true, true},
	{"f1_micro", "F1, micro", false, false},
	{"balanced_accuracy", "balanced accuracy", false, true},
	{"mcc", "MCC", true, true},
	{"brier", "Brier score", true, false},
	{"log_loss", "log loss", false, false},
	{"ece", "calibration error", false, false},
	{"label_accuracy", "accuracy per tag", true, true},
	{"mean_ap", "mean AP", true, true},
}

// bins is the number of bins of the calibration error, mostConfusion the number of classes of which the confusion
// matrix is told.
const bins, mostConfusion = 15, 20

// Title is how people write the name of a measure.
func Title(name string) string {
	for _, n := range names {
		if n.name == name {
			return n.title
		}
	}
	return name
}

// Answers are what a model says of samples: the number of classes, negative for tags, then for each sample its
// class and a probability for each class, or for tags 0 or 1 for each and then a probability for each.
type Answers []float64

// Begin returns answers about no samples yet.
func Begin(classes int, tags bool) Answers {
	if tags {
		classes = -classes
	}
	return Answers{float64(classes)}
}

// Size is how many numbers Answers have for each sample.
func Size(classes int, tags bool) int {
	if tags {
		return 2 * classes
	}
	return 1 + classes
}

// rows calls f with each sample: with what it is, and the probabilities.
func (a Answers) rows(f func(truth, p []float64)) {
	if len(a) == 0 {
		return
	}
	k := int(math.Abs(a[0]))
	n := Size(k, a[0] < 0)
	for at := 1; at+n <= len(a); at += n {
		f(a[at:at+n-k], a[at+n-k:at+n])
	}
}

// Fit reports whether answers, such as those of another machine, may be those about at most n samples.
func (a Answers) Fit(classes int, tags bool, n int) bool {
	size := Size(classes, tags)
	fit := len(a) > 0 && a[0] == Begin(classes, tags)[0] && (len(a)-1)%size == 0 && (len(a)-1)/size <= n
	most := 1.0
	if !tags {
		most = float64(classes - 1)
	}
	for i := 1; i < len(a) && fit; i++ {
		x, truth := a[i], (i-1)%size < size-classes
		fit = x >= 0 && (x <= 1 || truth && x <= most) && (!truth || x == math.Trunc(x))
	}
	return fit
}

// Value is one measure of a model.
type Value struct {
	// Value is that over the samples of all clients together, null where it is undefined, as a ROC AUC
	// is without samples of two classes.
	Value *float64 `json:"value"`
	// Trivial is the one of always answering with how often each class occurs among the samples.
	Trivial *float64 `json:"trivial"`
	// ClientMean is the plain mean over the Clients for which it is defined, beside Undefined others.
	ClientMean *float64 `json:"client_mean,omitempty"`
	Clients    int      `json:"clients"`
	Undefined  int      `json:"undefined"`
}

// Bin are the samples whose top probability is in one of 15 equal bins, none left out.
type Bin struct {
	// Samples counts them; Confidence is the mean of the top probability, Accuracy the share of right ones.
	Samples    int     `json:"samples"`
	Confidence float64 `json:"confidence"`
	Accuracy   float64 `json:"accuracy"`
}

// Threshold is a probability from which on samples count as of the second of two classes.
type Threshold struct {
	// For is the measure that is the highest with it on validation samples, "f1" or "balanced_accuracy".
	For       string  `json:"for"`
	Threshold float64 `json:"threshold"`
	// F1, Balanced, Sensitivity and Specificity are of test samples, nil where they are undefined.
	F1          *float64 `json:"f1"`
	Balanced    *float64 `json:"balanced_accuracy"`
	Sensitivity *float64 `json:"sensitivity"`
	Specificity *float64 `json:"specificity"`
}

// thresholds chooses some by answers about validation samples, and measures them by those about test samples.
func thresholds(val, test []Answers) (all []Threshold) {
	type score struct{ p, y float64 }
	var scores []score
	for _, a := range val {
		a.rows(func(truth, p []float64) { scores = append(scores, score{p[len(p)-1], truth[0]}) })
	}
	slices.SortFunc(scores, func(a, b score) int { return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(a.y, b.y)) })
	positive := 0.0
	for _, s := range scores {
		positive += s.y
	}
	negative := float64(len(scores)) - positive
	if positive == 0 || negative == 0 {
		return nil
	}
	all = []Threshold{{For: "f1"}, {For: "balanced_accuracy"}}
	best, hits := [2]float64{}, 0.0
	for i, s := range scores {
		hits += s.y
		if i+1 < len(scores) && scores[i+1].p == s.p {
			continue
		}
		n, at := float64(i+1), s.p
		if i+1 < len(scores) {
			at = (s.p + scores[i+1].p) / 2
		}
		for k, x := range [2]float64{2 * hits / (n + positive), (hits/positive + (negative-n+hits)/negative) / 2} {
			if x > best[k] {
				best[k], all[k].Threshold = x, at
			}
		}
	}
	for i := range all {
		t, s := &all[i], &sheet{}
		s.begin(2, false)
		for _, a := range test {
			a.rows(func(truth, p []float64) {
				predicted := []float64{1, 0}
				if p[1] >= t.Threshold {
					predicted = []float64{0, 1}
				}
				s.add(truth, predicted)
			})
		}
		v, c, n := s.values(0, 0, 0), s.confusion, s.counts
		t.F1, t.Balanced = OrNil(v["f1"]), OrNil(v["balanced_accuracy"])
		t.Sensitivity, t.Specificity = OrNil(float64(c[1][1])/float64(n[1])), OrNil(float64(c[0][0])/float64(n[0]))
	}
	return all
}

// Measures judge a model on the samples of clients.
type Measures struct {
	// Values are those that there are of the task, by their names.
	Values map[string]Value `json:"values"`
	// Recall has the recall of each class, null of one that does not occur. Confusion counts samples by their class
	// (row) and the predicted one, for at most 20 classes. Reliability are the bins of the calibration error.
	Recall      []*float64 `json:"recall,omitempty"`
	Confusion   [][]int    `json:"confusion,omitempty"`
	Reliability []Bin      `json:"reliability,omitempty"`
	// Thresholds are chosen on validation samples, of two classes; nil where these do not have both.
	Thresholds []Threshold `json:"thresholds,omitempty"`
	// Samples is how many were measured; with Every one of that many samples was.
	Samples int `json:"samples"`
	Every   int `json:"every,omitempty"`
}

// Of returns the measures of answers, client by client; nil without any samples. central says that all are of no
// client. val are answers about validation samples, by which thresholds are chosen.
func Of(clients, val []Answers, every int, central bool) *Measures {
	s := count(clients)
	if s.samples == 0 {
		return nil
	}
	m := &Measures{Values: map[string]Value{}, Samples: s.samples, Every: every}
	if every == 1 {
		m.Every = 0
	}
	trivial := s.trivial(clients)
	for name, x := range s.values(s.ranked(clients)) {
		m.Values[name] = Value{Value: OrNil(x), Trivial: OrNil(trivial[name])}
	}
	means := map[string]*mean{}
	for i := range clients {
		one := clients[i : i+1]
		c := count(one)
		if central || c.samples == 0 {
			continue
		}
		for name, x := range c.values(c.ranked(one)) {
			if means[name] == nil {
				means[name] = &mean{}
			}
			means[name].add(x, 1)
			v := m.Values[name]
			v.Clients, v.ClientMean = int(means[name].weight), OrNil(means[name].mean())
			if math.IsNaN(x) {
				v.Undefined++
			}
			m.Values[name] = v
		}
	}
	if s.tags {
		return m
	}
	if len(s.counts) == 2 {
		m.Thresholds = thresholds(val, clients)
	}
	for k, row := range s.confusion {
		m.Recall = append(m.Recall, OrNil(float64(row[k])/float64(s.counts[k])))
	}
	if len(s.counts) <= mostConfusion {
		m.Confusion = s.confusion
	}
	for _, b := range s.bins {
		if b.Samples > 0 {
			n := float64(b.Samples)
			m.Reliability = append(m.Reliability, Bin{b.Samples, b.Confidence / n, b.Accuracy / n})
		}
	}
	return m
}

// Get returns one measure of answers, NaN where it is undefined.
func Get(name string, clients []Answers) float64 {
	s := count(clients)
	if s.samples > 0 {
		if x, ok := s.values(s.ranked(clients))[name]; ok {
			return x
		}
	}
	return math.NaN()
}

// Get is a measure, nil where it is undefined and of nil.
func (m *Measures) Get(name string) *float64 {
	if m == nil {
		return nil
	}
	return m.Values[name].Value
}

// Names are the measures that there are of the task, in the order in which they are shown: of nil none. Short
// leaves those that tell the most.
func (m *Measures) Names(short bool) (all []string) {
	if m == nil {
		return nil
	}
	_, more := m.Values["f1_micro"]
	for _, n := range names {
		if _, ok := m.Values[n.name]; ok && (!short || more && n.more || !more && n.two) {
			all = append(all, n.name)
		}
	}
	return all
}

// OrNil is nil for NaN.
func OrNil(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// mean is a weighted mean of numbers, which leaves NaN out.
type mean struct{ sum, weight float64 }

func (m *mean) add(x, weight float64) {
	if !math.IsNaN(x) {
		m.sum += float64(x * weight)
		m.weight += weight
	}
}

func (m *mean) mean() float64 { return m.sum / m.weight }

// sheet is what answers add up to, but for what needs their order.
type sheet struct {
	tags           bool
	samples        int
	counts         []int // by class
	confusion      [][]int
	brier, logLoss float64
	right          int       // decisions about tags
	bins           [bins]Bin // with sums in place of means
}

func count(clients []Answers) *sheet {
	s := &sheet{}
	for _, a := range clients {
		if s.counts == nil && len(a) > 0 {
			s.begin(int(math.Abs(a[0])), a[0] < 0)
		}
		a.rows(s.add)
	}
	return s
}

func (s *sheet) begin(classes int, tags bool) {
	s.tags, s.counts = tags, make([]int, classes)
	for range classes {
		s.confusion = append(s.confusion, make([]int, classes))
	}
}

// add counts one sample.
func (s *sheet) add(truth, p []float64) {
	s.samples++
	if s.tags {
		for k, y := range truth {
			s.counts[k] += int(y)
			if (p[k] >= 0.5) == (y == 1) {
				s.right++
			}
		}
		return
	}
	class, best := int(truth[0]), 0
	for k, x := range p {
		if x > p[best] || len(p) == 2 && k == 1 && x >= 0.5 {
			best = k
		}
		if k == class {
			x--
		}
		if len(p) > 2 || k == 1 {
			s.brier += float64(x * x)
		}
	}
	s.counts[class]++
	s.confusion[class][best]++
	s.logLoss -= det.Log(min(max(p[class], 0x1p-52), 1-0x1p-52))
	b := 0
	for b+1 < bins && p[best] > float64(b+1)/bins {
		b++
	}
	s.bins[b].Samples++
	s.bins[b].Confidence += p[best]
	if best == class {
		s.bins[b].Accuracy++
	}
}

// values returns the measures that there are of the task, given those that the order of the answers decides.
func (s *sheet) values(auc, weighted, ap float64) map[string]float64 {
	k, n := len(s.counts), float64(s.samples)
	if s.tags {
		return map[string]float64{"label_accuracy": float64(s.right) / (n * float64(k)), "mean_ap": ap}
	}
	v := map[string]float64{
		"roc_auc": auc, "pr_auc": ap, "brier": s.brier / n, "log_loss": s.logLoss / n, "ece": 0, "mcc": 0,
	}
	for _, b := range s.bins {
		v["ece"] += math.Abs(b.Accuracy-b.Confidence) / n
	}
	var right, tp, pp, tt float64 // sums over the classes of what is right, and of p_k t_k, p_k^2 and t_k^2
	var f1, recall mean
	for i, row := range s.confusion {
		p, t, hit := 0.0, float64(s.counts[i]), float64(row[i])
		for j := range s.confusion {
			p += float64(s.confusion[j][i])
		}
		right, tp, pp, tt = right+hit, tp+float64(p*t), pp+float64(p*p), tt+float64(t*t)
		recall.add(hit/t, 1)
		if k > 2 || i == 1 {
			f1.add(2*hit/(p+t), 1)
		}
	}
	if below := math.Sqrt(float64(n*n-pp) * float64(n*n-tt)); below > 0 {
		v["mcc"] = (float64(right*n) - tp) / below
	}
	if v["f1"], v["balanced_accuracy"] = f1.mean(), recall.mean(); k > 2 {
		v["roc_auc_weighted"], v["f1_micro"] = weighted, right/n
	}
	return v
}

// both are the classes, or tags, that some samples have and some lack; of two classes the second.
func (s *sheet) both() (all []int) {
	for k, n := range s.counts {
		if n > 0 && n < s.samples && (len(s.counts) != 2 || k == 1 || s.tags) {
			all = append(all, k)
		}
	}
	return all
}

// ranked returns the means over the classes of what the order of their probabilities decides.
func (s *sheet) ranked(clients []Answers) (auc, weighted, ap float64) {
	var a, w, p mean
	var with, without []float64
	for _, k := range s.both() {
		with, without = with[:0], without[:0]
		for _, c := range clients {
			c.rows(func(truth, p []float64) {
				if s.tags && truth[k] == 1 || !s.tags && int(truth[0]) == k {
					with = append(with, p[k])
				} else {
					without = append(without, p[k])
				}
			})
		}
		area, precision := areas(with, without)
		a.add(area, 1)
		w.add(area, float64(s.counts[k]))
		p.add(precision, 1)
	}
	return a.mean(), w.mean(), p.mean()
}

// areas returns the area under the ROC curve and the average precision of the scores of samples of a class and of
// others, both not empty, which it sorts.
func areas(with, without []float64) (auc, ap float64) {
	slices.Sort(with)
	slices.Sort(without)
	n, m := len(with), len(without)
	pairs := 0 // twice those in order
	for i, j := n, m; i > 0; {
		t := with[i-1]
		if j > 0 {
			t = max(t, without[j-1])
		}
		was, others := i, j
		for i > 0 && with[i-1] == t {
			i--
		}
		for j > 0 && without[j-1] == t {
			j--
		}
		pairs += (was - i) * (j + others)
		ap += float64(float64(was-i) / float64(n) * (float64(n-i) / float64(n-i+m-j)))
	}
	return float64(pairs) / (2 * float64(n) * float64(m)), ap
}

// trivial returns the measures of always answering with the shares of the classes, or of the samples that have a tag.
func (s *sheet) trivial(clients []Answers) map[string]float64 {
	t, shares := &sheet{}, make([]float64, len(s.counts))
	t.begin(len(s.counts), s.tags)
	for k, n := range s.counts {
		shares[k] = float64(n) / float64(s.samples)
	}
	for _, c := range clients {
		c.rows(func(truth, _ []float64) { t.add(truth, shares) })
	}
	var auc, ap mean
	for _, k := range s.both() {
		auc.add(0.5, 1)
		ap.add(shares[k], 1)
	}
	v := t.values(auc.mean(), auc.mean(), ap.mean())
	if !s.tags {
		v["ece"], v["mcc"] = 0, 0 // but for rounding
	}
	return v
}
