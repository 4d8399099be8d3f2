package dashboard

import (
	"bytes"
	"crypto/sha512"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	neturl "net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/store"
)

// TestVendoredFiles compares the files that others wrote with their digests.
func TestVendoredFiles(t *testing.T) {
	page, err := fs.ReadFile(assets, "assets/VENDORED.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?m)^\\| `(.+)` \\| `(.+)` \\|$").FindAllStringSubmatch(string(page), -1)
	if len(found) != 3 {
		t.Fatalf("%d files are listed", len(found))
	}
	for _, m := range found {
		content, err := fs.ReadFile(assets, "assets/"+m[1])
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha512.Sum512(content); base64.StdEncoding.EncodeToString(sum[:]) != m[2] {
			t.Errorf("%s is not the file that %s lists", m[1], "VENDORED.md")
		}
	}
}

// recorded is a study at work of one trial, begun in a folder, and what records its
// next round. Its scores are 1, 1/2, 1/3 and so on, half as heavy with each round.
func recorded(t *testing.T, dir string) (st *store.Store, round func()) {
	t.Helper()
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Sets: []string{"score.discount=0.5"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := config.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	if st, err = store.Open(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	add := func(kind string, trial, round int, form string, values ...any) {
		if err := st.Append(kind, trial, round, fmt.Appendf(nil, form, values...)); err != nil {
			t.Fatal(err)
		}
	}
	add(store.KindStudy, -1, 0, `{"name":"one","mode":"tune","config":%q,"trial_rounds":100}`, text)
	add(store.KindSession, -1, 0, `{"version":"test","workers":2}`)
	add(store.KindTrial, 0, 0, `{"params":{"client.lr":0.1}}`)
	if err := st.Flush(); err != nil {
		t.Fatal(err)
	}
	n := 0
	return st, func() {
		n++
		add(store.KindRound, 0, n, `{"score":%v,"train_loss":2,"clients":[1]}`, 1/float64(n))
	}
}

// browser keeps cookies, as that of a person does.
var browser = func() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err)
	}
	return &http.Client{Jar: jar}
}()

// served serves a folder, and returns where, for the browser.
func served(t *testing.T, root string) string {
	t.Helper()
	server := &Server{Root: root, Token: NewToken()}
	s := httptest.NewServer(server.Handler())
	t.Cleanup(s.Close)
	get(t, s.URL+"/?token="+server.Token, nil)
	return s.URL
}

// get reads what an address answers as JSON, or nothing.
func get(t *testing.T, url string, into any) {
	t.Helper()
	answer, err := browser.Get(url) //nolint:noctx // a short one
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, answer.Status)
	}
	if into == nil {
		return
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// answers sends a request of a page of an origin, empty for none, which is to have a
// status, and returns the header of the answer.
func answers(t *testing.T, name string, r *http.Request, origin string, want int) http.Header {
	t.Helper()
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	answer, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // it was read
	if err != nil || answer.StatusCode != want {
		t.Errorf("%s: %d (%v): %s", name, answer.StatusCode, err, body)
	}
	return answer.Header
}

// TestGuard refuses foreign hosts, foreign pages and paths outside of the folder,
// and lets pages load nothing from elsewhere.
func TestGuard(t *testing.T) {
	root := t.TempDir()
	recorded(t, filepath.Join(root, "below", "one"))
	server := &Server{Root: filepath.Join(root, "below"), Token: NewToken()}
	s := httptest.NewServer(server.Handler())
	defer s.Close()
	for name, tt := range map[string]struct {
		method, path, host, origin string
		want                       int
	}{
		"the list":           {"GET", "/", "", "", 200},
		"by name":            {"GET", "/", "localhost:80", "", 200},
		"IPv6":               {"GET", "/", "[::1]:80", "", 200},
		"a foreign name":     {"GET", "/api/studies", "evil.example", "", 421},
		"one that ends well": {"GET", "/", "127.0.0.1.evil.example", "", 421},
		"this network":       {"GET", "/", "192.168.1.2", "", 421},
		"a foreign page":     {"POST", "/api/studies", "", "https://evil.example", 403},
		"nothing to post":    {"POST", "/api/studies", "", "", 405},
		"a study":            {"GET", "/api/study?dir=one", "", "", 200},
		"none":               {"GET", "/api/study?dir=two", "", "", 404},
		"above":              {"GET", "/api/study?dir=../below/one", "", "", 404},
		"no number":          {"GET", "/api/news?dir=one&after=x", "", "", 400},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, s.URL+tt.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = tt.host
		for _, port := range []string{"80", s.URL[strings.LastIndex(s.URL, ":")+1:]} {
			r.AddCookie(&http.Cookie{Name: "fedfast-" + port, Value: server.Token})
		}
		header := answers(t, name, r, tt.origin, tt.want)
		if p := header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(p, "unsafe") {
			t.Errorf("%s: the policy is %q", name, p)
		}
	}
}

// stops is a Control that remembers what it was asked.
type stops struct{ said []string }

// StopTrial knows trials 0 and 1, of which the latter has ended.
func (s *stops) StopTrial(number int) error {
	switch number {
	case 0:
		s.said = append(s.said, "trial 0")
		return nil
	case 1:
		return errors.New("trial 1 has ended")
	}
	return fmt.Errorf("trial %d: %w", number, study.ErrNoSuchTrial)
}

// StopStudy can always be.
func (s *stops) StopStudy() error {
	s.said = append(s.said, "study")
	return nil
}

// TestStopNeedsTheToken stops nothing for foreign pages, hosts and those without the
// token, and tells the rest what came of it.
func TestStopNeedsTheToken(t *testing.T) {
	root := t.TempDir()
	recorded(t, root)
	control, token := &stops{}, NewToken()
	s := httptest.NewServer((&Server{Root: root, Control: control, Token: token}).Handler())
	defer s.Close()
	cookie := "fedfast-" + s.URL[strings.LastIndex(s.URL, ":")+1:]
	if len(token) < 26 || token == NewToken() {
		t.Errorf("the token %q is easy to guess", token)
	}
	for name, tt := range map[string]struct {
		method, host, origin, token, form string
		want                              int
	}{
		"a trial":               {"POST", "", s.URL, token, "trial=0", 204},
		"the study":             {"POST", "", "", token, "study=all", 204},
		"one that has ended":    {"POST", "", "", token, "trial=1", 409},
		"no such trial":         {"POST", "", "", token, "trial=7", 404},
		"nothing":               {"POST", "", "", token, "", 400},
		"both":                  {"POST", "", "", token, "trial=0&study=all", 400},
		"no number":             {"POST", "", "", token, "trial=x", 400},
		"no token":              {"POST", "", "", "", "trial=0", 403},
		"another token":         {"POST", "", "", token[:25] + "!", "trial=0", 403},
		"a foreign page":        {"POST", "", "https://evil.example", token, "trial=0", 403},
		"another local page":    {"POST", "", "http://127.0.0.1:1", token, "trial=0", 403},
		"a foreign name":        {"POST", "evil.example", "", token, "trial=0", 421},
		"by reading":            {"GET", "", "", token, "trial=0", 405},
		"a form without an end": {"POST", "", "", token, "trial=0&x=" + strings.Repeat("x", 2000), 400},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, s.URL+"/api/stop", strings.NewReader(tt.form))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = tt.host
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if tt.token != "" {
			r.AddCookie(&http.Cookie{Name: cookie, Value: tt.token})
		}
		answers(t, name, r, tt.origin, tt.want)
	}
	slices.Sort(control.said)
	if want := []string{"study", "trial 0"}; !slices.Equal(control.said, want) {
		t.Errorf("stopped were %q, want %q", control.said, want)
	}
	answer, err := browser.Post(served(t, root)+"/api/stop", "application/x-www-form-urlencoded", strings.NewReader("study=all")) //nolint:noctx // a short one
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close() // its code tells
	if answer.StatusCode != http.StatusMethodNotAllowed && answer.StatusCode != http.StatusNotFound {
		t.Errorf("a server that changes nothing answers %d", answer.StatusCode)
	}
}

// TestOthersSeeNothing: who has not opened the address with the token, such as another user of
// this machine, gets no page and no file; who has gets a cookie of this port alone.
func TestOthersSeeNothing(t *testing.T) {
	root := t.TempDir()
	recorded(t, filepath.Join(root, "one"))
	server := &Server{Root: root, Token: NewToken()}
	s := httptest.NewServer(server.Handler())
	defer s.Close()
	stranger := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, want := range map[string]int{
		"/": 403, "/study?dir=one": 403, "/assets/common.js": 403, "/api/studies": 403, "/api/study?dir=one": 403, "/api/news?dir=one&after=0": 403,
		"/?token=": 403, "/?token=" + server.Token[1:]: 403, "/study?dir=one&token=" + server.Token: 303, "//elsewhere/?token=" + server.Token: 303,
	} {
		answer, err := stranger.Get(s.URL + path) //nolint:noctx // a short one
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close() // it was read
		if err != nil || answer.StatusCode != want || strings.Contains(string(body), "one") && want == 403 {
			t.Errorf("%s: %d (%v): %s", path, answer.StatusCode, err, body)
		}
		if to := answer.Header.Get("Location"); want == 303 && (strings.Contains(to, "token") || strings.HasPrefix(to, "//")) {
			t.Errorf("%s goes on to %s", path, to)
		}
		cookie := answer.Header.Get("Set-Cookie")
		if name := "fedfast-" + s.URL[strings.LastIndex(s.URL, ":")+1:]; want == 303 && (!strings.HasPrefix(cookie, name+"="+server.Token) || !strings.Contains(cookie, "HttpOnly")) || want == 403 && cookie != "" {
			t.Errorf("%s sets the cookie %q", path, cookie)
		}
	}
}

// TestBodiesAreNotRead sends forms in parts, which Go's FormValue would put into files.
func TestBodiesAreNotRead(t *testing.T) {
	root, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	recorded(t, filepath.Join(root, "one"))
	url := served(t, root)
	for _, path := range []string{"/api/study?dir=one", "/api/curves?dir=one", "/api/part?dir=one&part=config", "/api/news?dir=one&after=0", "/api/studies"} {
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		part, err := w.CreateFormFile("dir", "dir")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write(make([]byte, 40<<20)) // a buffer
		_ = w.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, &form)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", w.FormDataContentType())
		if answer, err := browser.Do(r); err == nil { // else the server has closed on the body
			_ = answer.Body.Close() // its code tells
			if answer.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", path, answer.Status)
			}
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%s leaves %v (%v)", path, left, err)
		}
	}
}

// told is what /api/news answers.
type told struct {
	Seq     int64
	More    bool
	Rounds  []json.RawMessage
	Changed bool
	PID     int
	Mark    string
	Cut     bool
}

// TestNewsResumeExactly asks after every entry: each round is told once, with the score that
// the study goes by, and nothing is read while nothing changes.
func TestNewsResumeExactly(t *testing.T) {
	root := t.TempDir()
	st, round := recorded(t, filepath.Join(root, "one"))
	begun := st.Seq()
	flushed := func() {
		if err := st.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for range 6 {
		round()
	}
	flushed()
	url := served(t, root) + "/api/news?dir=one&discount=0.5&after="
	ask := func(after int64, mark string) (n told) {
		get(t, url+strconv.FormatInt(after, 10)+"&mark="+neturl.QueryEscape(mark), &n)
		return n
	}
	want := []string{`[0,1,1,2,null]`, `[0,2,0.66667,2,null]`, `[0,3,0.47619,2,null]`, `[0,4,0.35556,2,null]`, `[0,5,0.27527,2,null]`, `[0,6,0.22011,2,null]`}
	for at := int64(0); at <= st.Seq(); at++ {
		n := ask(at, "")
		rounds := want[max(0, at-begun):]
		if fmt.Sprintf("%s", n.Rounds) != fmt.Sprintf("%s", rounds) || n.Changed != (at < begun) || n.Seq != st.Seq() || n.More || n.Cut || n.PID != os.Getpid() {
			t.Errorf("behind entry %d: %+v", at, n)
		}
	}
	if n := ask(0, ask(st.Seq(), "").Mark); len(n.Rounds) != 6 {
		t.Errorf("what was just written may have been missed, and is not told: %+v", n)
	}
	settle(t, filepath.Join(root, "one"))
	last := ask(st.Seq(), "")
	if n := ask(0, last.Mark); len(n.Rounds) != 0 || n.Changed || n.Mark != last.Mark {
		t.Errorf("with the mark of the files they were read: %+v", n)
	}
	round()
	flushed()
	if n := ask(st.Seq()-1, last.Mark); len(n.Rounds) != 1 || n.Mark == last.Mark {
		t.Errorf("a new round is told as %+v", n)
	}
	if n := ask(st.Seq()+5, ""); !n.Cut {
		t.Errorf("of a shorter record is told %+v", n)
	}
	for range batch + 10 {
		round()
	}
	flushed()
	if n := ask(0, ""); !n.More || n.Mark != "" || n.Seq != batch+1 { // the first row is no news
		t.Errorf("of many entries: %d rounds, up to %d, more %v", len(n.Rounds), n.Seq, n.More)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if n := ask(st.Seq(), last.Mark); n.PID != 0 {
		t.Errorf("at the end: %+v", n)
	}
}

// TestThin keeps the lowest and the highest of each column and no more points than
// a picture has room for.
func TestThin(t *testing.T) {
	var rounds []view.Round
	for i := range 10 {
		rounds = append(rounds, view.Round{Round: i + 1, Mean: float64(i * i % 7)})
	}
	for width, want := range map[int]string{
		1: "[0,1,4,2,2,4,1,0,1,4]",
		3: "[0,4,2,4,0,1,4,4]",
	} {
		got, err := json.Marshal(thin(rounds, measure["score"], axes[""](nil), float64(width)))
		if err != nil || string(got) != want {
			t.Errorf("columns of %d rounds: %s, %v, want %s", width, got, err, want)
		}
	}
	for _, tt := range []struct{ length, curves, want int }{{100, 27, 1}, {4000, 1, 4}, {4000, 20, 4}, {4000, 200, 40}, {50_000, 3, 50}} {
		if got := width(tt.length, tt.curves); got != tt.want {
			t.Errorf("%d curves of %d rounds have columns of %d, want %d", tt.curves, tt.length, got, tt.want)
		}
	}
}

// TestComparisonIsNotTheEnd: a study whose result is recorded still runs while it is
// compared with random search, and tells how far that is.
func TestComparisonIsNotTheEnd(t *testing.T) {
	root := t.TempDir()
	st, round := recorded(t, filepath.Join(root, "one"))
	round()
	add := func(kind, form string, values ...any) {
		t.Helper()
		if err := errors.Join(st.Append(kind, -1, 3, fmt.Appendf(nil, form, values...)), st.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	url := served(t, root)
	look := func() (p struct {
		State, Stage string
		Control      bool
		Best         struct{ Returned bool }
		Answer       []string
	},
	) {
		t.Helper()
		get(t, url+"/api/study?dir=one", &p)
		return p
	}
	add(store.KindResult, `{"tune":{"best":{"number":0,"round":1,"score":0.5},"rounds":1,"rounds_per_second":1,"global_test_error":0.3,"evaluation":{"global_test":{"error":0.3,"clients":9,"std_error":0.03}}}}`)
	add(store.KindBaseline, `{"configurations":2,"rounds":3,"target":"global"}`)
	add(store.KindConfiguration, `{"number":1,"params":{},"score":0.6,"test_error":0.62,"std_error":0.04}`)
	if p := look(); p.State != "running" || p.Stage != "random search, trial 2 of 2" || !p.Best.Returned || p.Control {
		t.Errorf("meanwhile: %+v", p)
	}
	add(store.KindConfiguration, `{"number":0,"params":{},"score":0.4,"test_error":0.5,"std_error":0.04}`)
	p := look()
	const said = "Random search, global test error: best of 2 is 50.00 %, median 56.00 %; tuned is 20.0 ± 9.3 points lower; 6 rounds."
	if p.State != "completed" || p.Stage != "" || !slices.Contains(p.Answer, said) {
		t.Errorf("in the end: %+v", p)
	}
}

// TestListReadsOnlyWhatChanged lists studies of which some are damaged: they are shown as that,
// and none is read again until its files change.
func TestListReadsOnlyWhatChanged(t *testing.T) {
	root := t.TempDir()
	good, round := recorded(t, filepath.Join(root, "good"))
	st, _ := recorded(t, filepath.Join(root, "view"))
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(root, "view", store.File))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "ALTER TABLE journal RENAME TO j; CREATE VIEW journal AS WITH RECURSIVE r(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM r) SELECT * FROM r"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "noise"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "noise", store.File), []byte(strings.Repeat("no database ", 400)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Server{Root: root}
	read := func() map[string]Entry {
		all, err := s.list.read(t.Context(), s)
		if err != nil || len(all.Studies) != 3 || all.Unread != 0 {
			t.Fatalf("%+v (%v)", all, err)
		}
		by := map[string]Entry{}
		for _, e := range all.Studies {
			by[e.Dir] = e
		}
		return by
	}
	settle(t, filepath.Join(root, "good"))
	first := read()
	if e := first["good"]; e.Problem != "" || e.Trials != 1 {
		t.Errorf("good is %+v", e)
	}
	if e := first["view"]; !strings.Contains(e.Problem, "not a record of fedfast") {
		t.Errorf("view is %+v", e)
	}
	if e := first["noise"]; !strings.Contains(e.Problem, "damaged") {
		t.Errorf("noise is %+v", e)
	}
	marked := s.list.last[filepath.Join(root, "good")]
	marked.entry.Rounds = 7 // a reading would find none
	s.list.last[filepath.Join(root, "good")] = marked
	if e := read()["good"]; e.Rounds != 7 {
		t.Errorf("it was read again: %+v", e)
	}
	round()
	if err := good.Flush(); err != nil {
		t.Fatal(err)
	}
	if e := read()["good"]; e.Rounds != 1 {
		t.Errorf("it was not read again: %+v", e)
	}
}

// settle has the files of a study as if nothing was written to them lately.
func settle(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v in %s: %v", files, dir, err)
	}
	for _, f := range files {
		if at := time.Now().Add(-2 * settled); os.Chtimes(f, at, at) != nil {
			t.Fatal(f)
		}
	}
}
