package config

import (
	"errors"
	"strings"
	"testing"
)

// extremes are values of which nearly every key refuses some.
var extremes = []string{
	"-1", "0", "1", "0.5", "1e-300", "1e39", "1e300", "1e999", "nan", "inf", "-inf", "2147483647", "2147483648",
	"4611686018427387904", "-9223372036854775808", "9223372036854775808", `""`, `"x"`, "x", "true", "[]", "[-1]", "{}",
	"{x = 1}",
	strings.Repeat("9", 5000), strings.Repeat("x", 5000), "[" + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "]",
}

// TestExtremesOfEveryKey gives each key each of these: it is refused in lines that
// each name a key, or loads as it is written. So a new key is tried, too.
func TestExtremesOfEveryKey(t *testing.T) {
	base := write(t,
		"model = \"logistic\"\ncohort = 2\nrounds = 1\n[data]\nname = \"glyphs\"\n[space]\n\"client.lr\" = {log10 = [-3, 0]}\n")
	names := []string{"space.client.lr", "space.x", "tuner.options.x", "client_tuner.options.x", "model.layers", "nosuch"}
	for _, k := range keys {
		names = append(names, k.Name)
	}
	refused, began := 0, 0
	for _, name := range names {
		for _, value := range extremes {
			set := name + "=" + value
			err := tryOut(t, Source{File: base, Sets: []string{set}})
			if err == nil {
				began++
				continue
			}
			refused++
			if text := err.Error(); strings.Contains(text, "\n") && !isJoined(err) || len(text) > 2000 {
				t.Errorf("%.100s: no short line: %.300s", set, text)
			}
		}
	}
	if refused < 100 || began < 100 {
		t.Errorf("%d were refused, %d began", refused, began)
	}
}

// TestNonsenseIsRefused gives keys numbers that nothing can be done with.
func TestNonsenseIsRefused(t *testing.T) {
	base := write(t, "model = \"logistic\"\n[data]\nname = \"glyphs\"\n")
	for set, want := range map[string]string{
		"client.lr=1e300":                      "client.lr = 1e+300: exceeds the range of float32 (3.4e+38)",
		"client.weight_decay=1e39":             "client.weight_decay = 1e+39: exceeds",
		"server.lr=3.5e38":                     "server.lr = 3.5e+38: exceeds",
		"head_layers=1000000":                  `head_layers = 1000000: method "fedavg" does not use it; leave it out, or use one of the methods fedala, fedbabu, fedper, fedrep ...`,
		"client.steps=2147483648":              "client.steps = 2147483648: must be an integer",
		"rounds=0":                             "rounds = 0: must be a positive integer",
		"tuner.parallel=-7":                    "tuner.parallel = -7: must be an integer in [1, 10000]",
		"data.alpha=1e39":                      "data.alpha = 1e+39: exceeds",
		`space.client.lr={uniform=[0.1,1e39]}`: "client.lr = 1e+39: exceeds",
	} {
		if err := tryOut(t, Source{File: base, Sets: []string{set}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", set, err, want)
		}
	}
}

// tryOut loads a configuration and checks it for both commands.
func tryOut(t *testing.T, src Source) error {
	t.Helper()
	c, places, err := LoadPlaced(src)
	if err != nil {
		return err
	}
	for _, mode := range []string{ModeTune, ModeRun} {
		if err := places.Explain(c.CheckFor(mode)); err != nil {
			return err
		}
	}
	text, err := Encode(c)
	if err != nil {
		return err
	}
	again, err := Load(Source{Text: string(text)})
	if err == nil {
		var twice []byte
		if twice, err = Encode(again); string(twice) != string(text) {
			t.Errorf("%.200v is written as another configuration", src.Sets)
		}
	}
	if err != nil {
		t.Errorf("%.200v is not read back: %v", src.Sets, err)
	}
	return nil
}

// isJoined reports whether an error tells of several keys, a line each.
func isJoined(err error) bool {
	_, joined := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	return joined
}
