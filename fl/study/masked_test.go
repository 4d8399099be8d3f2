package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/test/tfftest"
	"github.com/fedfast/fedfast/nn/models"
)

// wordStudy is a run of three rounds on a dump of a site of Stack Exchange, each
// measured.
func wordStudy(t *testing.T, path string, vocab int) Setup {
	t.Helper()
	c := config.Default()
	c.Name, c.Cohort, c.Seed, c.Rounds = "words", 3, 1, 3
	c.Model.Layers = []models.LayerSpec{
		{Type: "embedding", Size: 6},
		{Type: "lstm", Hidden: 8, Output: "every"},
		{Type: "dense"},
	}
	c.Data.Name, c.Data.Path, c.Data.Split, c.Data.MinSamples, c.Data.Vocab = "stackexchange", path, "50/25/25", 4, vocab
	c.Client.LR, c.Eval.Every = 0.5, 1
	fed, model, err := config.Prepare(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	return Setup{Config: c, Data: fed, Model: model, Workers: 2}
}

// site writes the posts of a made-up site and returns their path.
func site(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("<posts>\n")
	for user := 1; user <= 5; user++ {
		for post := range 8 {
			text := strings.Repeat("the tea is good ", 1+(user+post)%3) + strings.Repeat("cup ",
				post%2) + fmt.Sprintf("word%d%d", user, post)
			fmt.Fprintf(&b, "<row PostTypeId=\"2\" OwnerUserId=\"%d\" Body=%q/>\n", user, text)
		}
	}
	b.WriteString("</posts>\n")
	path := filepath.Join(t.TempDir(), "Posts.xml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMaskedErrorsOfARun trains next words and looks at the errors without unknown
// words and ends of sentences, at the end and on the way, in Go and as JSON.
func TestMaskedErrorsOfARun(t *testing.T) {
	real := filepath.Join(cmp.Or(os.Getenv("FEDFAST_DATA"), "../../../shared/data"), "stackexchange",
		"coffee.stackexchange.com")
	for _, tt := range []struct {
		name, path string
		vocab      int
	}{{"made up", site(t), 9}, {"real", real, 300}} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := os.Stat(tt.path); err != nil {
				t.Skipf("no dump at %s; set FEDFAST_DATA to the folder of data sets", tt.path)
			}
			s := wordStudy(t, tt.path, tt.vocab)
			rec := &recorder{}
			s.Observer = rec
			r, err := Run(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Masked) != 2 || r.Masked[0].Mask != "no_oov" || r.Masked[1].Mask != "no_oov_or_eos" {
				t.Fatalf("masks %+v", r.Masked)
			}
			last := map[string]float64{}
			for _, m := range r.Masked {
				for _, e := range []*float64{m.GlobalVal, m.GlobalTest, m.PersonalizedVal, m.PersonalizedTest} {
					if e == nil || *e < 0 || *e > 1 {
						t.Fatalf("%s: errors %+v", m.Mask, m.Rates)
					}
				}
				if m.UnseenTest != nil {
					t.Errorf("%s: an error of unseen clients, of whom there are none", m.Mask)
				}
				last[m.Mask] = *m.GlobalTest
			}
			if *r.Masked[1].GlobalTest == *r.GlobalTest {
				t.Errorf("error %v with and without the mask", *r.GlobalTest)
			}
			if got := r.Curve[2].Masked; len(r.Curve) != 3 || !reflect.DeepEqual(got, last) {
				t.Errorf("the curve ends with %v, the run with %v", got, last)
			}
			if e := rec.events[len(rec.events)-1]; !reflect.DeepEqual(e.Masked, last) {
				t.Errorf("the last event has %v, the run %v", e.Masked, last)
			}
			text, err := json.Marshal(r)
			var back struct {
				Masked []map[string]any `json:"masked"`
			}
			if err != nil || json.Unmarshal(text, &back) != nil || back.Masked[1]["mask"] != "no_oov_or_eos" ||
				back.Masked[1]["global_test_error"] != last["no_oov_or_eos"] {
				t.Errorf("as JSON the masks are %v, %v", back.Masked, err)
			}
		})
	}
}

// TestStackOverflowPreset trains one round of FATHOM's setting on a made-up file of
// TFF's Stack Overflow and on the made-up site.
func TestStackOverflowPreset(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a network of four million weights")
	}
	path := filepath.Join(t.TempDir(), "stackoverflow.sqlite")
	var rows []tfftest.Row
	for i := range 36 {
		message := tfftest.Example(tfftest.Feature{Name: "tokens", Text: []byte(strings.Repeat("a b c ", 1+i%4))})
		rows = append(rows, tfftest.Row{Split: "train", Client: strconv.Itoa(i % 3), Message: message})
		if i%9 == 0 {
			rows = append(rows, tfftest.Row{Split: "test", Client: strconv.Itoa(i % 2), Message: message},
				tfftest.Row{Split: "heldout", Client: "9", Message: message})
		}
	}
	tfftest.Write(t, path, rows)
	for _, sets := range [][]string{{"data.path=" + path}, {
		"data.path=" + site(t), "data.name=stackexchange",
		"data.split=80/10/10", "data.min_samples=4",
	}} {
		c, err := config.Load(config.Source{Preset: "stackoverflow-fathom", Sets: append(sets, "rounds=1", "cohort=2",
			"eval.every=1", "eval.every_clients=1")})
		if err != nil {
			t.Fatal(err)
		}
		fed, model, err := config.Prepare(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), Setup{Config: *c, Data: fed, Model: model})
		if err != nil || len(r.Curve) != 1 || len(r.Masked) != 2 || r.Evaluation.GlobalTest.Clients < 2 {
			t.Errorf("%s: %+v, %v", c.Data.Name, r, err)
		}
		if err := fed.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoMasks looks for any trace of masks in what a run on another set writes.
func TestNoMasks(t *testing.T) {
	s := glyphStudy(t, nil)
	s.Config.Rounds, s.Config.Eval.Every = 1, 1
	rec := &recorder{}
	s.Observer = rec
	r, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"result": r, "events": rec.events})
	if err != nil || strings.Contains(strings.ToLower(string(text)), "mask") {
		t.Errorf("%v\n%s", err, text)
	}
}
