package meter

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tensor"
)

const (
	// digestCost is about how many multiply-adds of training two cores do in the time of the
	// digest of one weight. With 240, digests took 2.5 % of the rounds of reddi-emnist-cnn with four
	// clients on a busy Zen 5.
	digestCost = 1000
	// digestShare is the share of the training's time that digests take.
	digestShare = 0.004
)

// digest adds to the record of the training's last round what identifies it: every N rounds
// digests of the weights and of the server's state, which depends on neither the time nor the
// machine; with config.DigestsAll after each round, and those of the clients' changes.
func (m *Meter) digest(tr *fl.Trial, slots []fl.Slot, rec *record.Round) {
	state, floats := tr.ServerState(), m.Model.Size()
	for _, a := range state {
		floats += len(a)
	}
	all := m.Config.Digests == config.DigestsAll
	if !all && tr.Rounds()%m.digestEvery(floats) != 0 {
		return
	}
	defer func(begin time.Time) { m.engine.Digested(time.Since(begin)) }(time.Now())
	rec.Weights = m.Model.SHA256(tr.Weights())
	if floats > m.Model.Size() {
		h := sha256.New()
		for _, a := range state {
			h.Write(tensor.LittleEndian(a))
		}
		rec.State = hex.EncodeToString(h.Sum(nil))
	}
	if !all || len(slots) == 0 {
		return
	}
	rec.Tensors = map[string]record.Hashes{}
	number := 0
	m.Model.EachSpan(func(name string, _ nn.Span) {
		hashes := make(record.Hashes, len(slots))
		for i := range slots {
			if d := slots[i].Digests; number < len(d) {
				hashes[i] = d[number]
			}
		}
		rec.Tensors[name] = hashes
		number++
	})
}

// digestEvery is the number of rounds from one digest of as many numbers to the next.
func (m *Meter) digestEvery(floats int) int {
	_, train := m.Model.FLOPs()
	round := max(1, m.trainedSamples()*float64(train))
	return int(max(1, min(math.MaxInt32, math.Ceil(digestCost/digestShare*float64(floats)/round))))
}
