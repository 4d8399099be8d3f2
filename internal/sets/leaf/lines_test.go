package leaf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// split writes a file of LEAF's form: the x and y of each user.
func split(t testing.TB, users map[string][2]any) string {
	t.Helper()
	var names []string
	all := map[string]any{}
	for name, samples := range users {
		names = append(names, name)
		all[name] = map[string]any{"x": samples[0], "y": samples[1]}
	}
	text, err := json.Marshal(map[string]any{"users": names, "num_samples": []int{}, "user_data": all})
	settest.Must(t, err)
	return string(text)
}

// tweet is x of one of LEAF's messages.
func tweet(text string) []any { return []any{"1467810369", "Mon Apr 06", "NO_QUERY", "someone", text} }

func TestSent140(t *testing.T) {
	dir := settest.Folder(t, map[string]string{
		"train/a.json": split(t, map[string][2]any{
			"b": {[]any{tweet("so so so glad"), tweet("Not GLAD, it's 1 thing!")}, []int{1, 0}},
			"a": {[]any{tweet(strings.Repeat("so ", 40))}, []int{1}},
		}),
		"test/a.json": split(t, map[string][2]any{"b": {[]any{tweet("unknown so")}, []int{1}}}),
	})
	cfg := data.Config{Name: "leaf-sent140", Path: dir, Split: "100/0/files", MinSamples: 1, Vocab: 2, IID: new(false)}
	fed := settest.Open(t, cfg)
	if fed.SeqLen != 25 || fed.Vocab != 4 || len(fed.Clients) != 2 || fed.Clients[1].ID != "b" {
		t.Fatalf("%d words, %d ids, %v", fed.SeqLen, fed.Vocab, fed.Clients)
	}
	read := func(v data.View) ([]int32, []int32) {
		tokens, labels := make([]int32, 25*v.Len()), make([]int32, v.Len())
		pos := []int32{0, 1}[:v.Len()]
		settest.Must(t, v.Fill(pos, nil, tokens, labels, nil))
		return tokens, labels
	}
	tokens, labels := read(fed.Clients[1].Train)
	if want := []int32{1, 1, 1, 2, 0}; !slices.Equal(tokens[:5], want) || !slices.Equal(tokens[25:28], []int32{3, 2, 3}) ||
		!slices.Equal(labels, []int32{1, 0}) {
		t.Errorf("ids %v, labels %v", tokens, labels)
	}
	if tokens, labels := read(fed.Clients[1].Test); !slices.Equal(tokens[:3], []int32{3, 1, 0}) || labels[0] != 1 {
		t.Errorf("test ids %v, labels %v", tokens, labels)
	}
}

func TestCelebA(t *testing.T) {
	files := map[string]string{
		"data/train/a.json": split(t, map[string][2]any{
			"7":  {[]string{"1.jpg", "2.jpg"}, []int{0, 1}},
			"12": {[]string{"3.jpg"}, []int{1}},
		}),
		"data/test/a.json": split(t, map[string][2]any{"7": {[]string{"4.jpg"}, []int{1}}}),
	}
	for i := range 4 {
		m := image.NewRGBA(image.Rect(0, 0, 178, 218))
		for k := range m.Pix {
			m.Pix[k] = []byte{byte(50 * i), 100, 200, 255}[k%4]
		}
		m.Set(0, 0, color.White)
		var out bytes.Buffer
		settest.Must(t, jpeg.Encode(&out, m, nil))
		files[fmt.Sprintf("data/raw/img_align_celeba/%d.jpg", i+1)] = out.String()
	}
	dir := settest.Folder(t, files)
	cfg := data.Config{Name: "leaf-celeba", Path: dir, Split: "100/0/files", MinSamples: 1, IID: new(false)}
	fed := settest.Open(t, cfg)
	if fed.H != 84 || fed.W != 84 || fed.C != 3 || len(fed.Clients) != 2 || fed.Clients[1].ID != "7" {
		t.Fatalf("%d x %d x %d, %v", fed.H, fed.W, fed.C, fed.Clients)
	}
	size := 84 * 84 * 3
	x, labels := make([]float32, 2*size), make([]int32, 2)
	settest.Must(t, fed.Clients[1].Train.Fill([]int32{0, 1}, x, nil, labels, nil))
	for i, want := range []float32{0, 100, 200, 50, 100, 200} {
		if got := 255 * x[i/3*size+size/2+i%3]; got < want-3 || got > want+3 {
			t.Errorf("pixel %d is %v, want %v", i, got, want)
		}
	}
	if !slices.Equal(labels, []int32{0, 1}) {
		t.Errorf("labels %v", labels)
	}
}

// TestLinesErrors checks one line for each file that cannot be used.
func TestLinesErrors(t *testing.T) {
	for _, c := range []struct {
		name, want string
		x, y       any
	}{
		{"leaf-sent140", `user "u": x of sample 1 has 2 fields, must have at least 5`, []any{[]string{"1", "2"}}, []int{1}},
		{"leaf-sent140", `user "u": x of sample 1 must be a text`, []any{[]any{1, 2, 3, 4, 5}}, []int{1}},
		{"leaf-sent140", `user "u": sample 1 has label 4, must be an integer in [0, 2)`, []any{tweet("so")}, []int{4}},
		{"leaf-sent140", `the training messages have no words`, []any{tweet("--")}, []int{0}},
		{"leaf-celeba", `no folder raw/img_align_celeba in it, which holds the pictures`, []string{"1.jpg"}, []int{1}},
	} {
		dir := settest.Folder(t, map[string]string{"train/a.json": split(t, map[string][2]any{"u": {c.x, c.y}})})
		_, err := data.Open(t.Context(), data.Config{Name: c.name, Path: dir, MinSamples: 1})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v\nwant %s", err, c.want)
		}
	}
	for name, want := range map[string]string{
		"none.jpg": "no such file", "../x.jpg": `must be a name without a folder`,
		"bad.jpg": "bad.jpg: it is no PNG or JPEG",
	} {
		dir := settest.Folder(t, map[string]string{
			"train/a.json": split(t, map[string][2]any{"u": {[]string{name}, []int{0}}}), "raw/img_align_celeba/bad.jpg": "GIF8",
		})
		_, err := data.Open(t.Context(), data.Config{Name: "leaf-celeba", Path: dir, MinSamples: 1})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v\nwant %s", err, want)
		}
	}
}
