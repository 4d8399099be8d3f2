package wire

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// takes returns how many bytes f allocates.
func takes(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// claim says of a blob what no blob has.
func claim(t *testing.T, l *Link, name, meta string) {
	t.Helper()
	subject := "$O." + Bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
	m, err := l.Conn.Request(subject, []byte(meta), 10*time.Second)
	if err != nil || bytes.Contains(m.Data, []byte("error")) {
		t.Fatalf("the metadata of a blob: %s, %v", m.Data, err)
	}
}

// TestThreatHugeBlob: the size of a blob that somebody claims takes no memory.
func TestThreatHugeBlob(t *testing.T) {
	b, j := openTest(t, false)
	ours, err := b.CreateBlobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ours.most = 1 << 20
	l, err := Connect(j, "join", "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i, size := range []string{
		"4611686018427387904", "9223372036854775813", "18446744073709551615", "100000000000",
		"1048577", "-1", "1e99", "NaN",
	} {
		name := fmt.Sprintf("%064x", i)
		claim(t, l, name, fmt.Sprintf(`{"name": %q, "bucket": %q, "nuid": "x", "size": %s, "chunks": 1}`, name, Bucket, size))
		var err error
		if n := takes(func() { _, err = ours.Bytes(t.Context(), name) }); err == nil || n > 4<<20 ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("a blob of %s bytes takes %d bytes: %v", size, n, err)
		}
	}
	name := strings.Repeat("a", DigestSize)
	claim(t, l, name,
		fmt.Sprintf(`{"name": %q, "bucket": %q, "nuid": "x", "size": 9, "options": {"link": {"bucket": %q, "name": %q}}}`,
			name, Bucket, Bucket, name))
	if _, err := ours.Bytes(t.Context(), name); err == nil || !strings.HasSuffix(err.Error(), "is a link") {
		t.Errorf("a blob that is a link to itself: %v", err)
	}
	for _, name := range []string{
		"", "x", strings.Repeat("a", 1<<20), strings.Repeat("z", DigestSize),
		"../" + strings.Repeat("a", DigestSize-3),
	} {
		if _, err := ours.Bytes(t.Context(), name); err == nil || len(err.Error()) > 200 {
			t.Errorf("a blob of the name %.20q: %v", name, err)
		}
	}
}

// TestThreatHostileJoinFile reads files that are no join files.
func TestThreatHostileJoinFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "join")
	for name, text := range map[string]string{
		"nothing":     "",
		"no URL":      fmt.Sprintf(`{"fedfast_cluster": %d, "key": "x", "urls": []}`, Protocol),
		"a web page":  fmt.Sprintf(`{"fedfast_cluster": %d, "key": "x", "urls": ["https://x:1"]}`, Protocol),
		"no host":     fmt.Sprintf(`{"fedfast_cluster": %d, "key": "x", "urls": ["nats://"]}`, Protocol),
		"2^62":        `{"fedfast_cluster": 4611686018427387904, "key": "x", "urls": ["nats://x:1"]}`,
		"2^63+5":      `{"fedfast_cluster": 9223372036854775813, "key": "x", "urls": ["nats://x:1"]}`,
		"two million": strings.Repeat(" ", 2<<20) + "{}",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadJoin(path); err == nil || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(),
			"--join") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Truncate(path, 100e9); err != nil {
		t.Skip(err)
	}
	var err error
	if n := takes(func() { _, err = ReadJoin(path) }); err == nil || n > 16<<20 {
		t.Errorf("a file of 100 GB takes %d bytes: %v", n, err)
	}
	if _, err = ReadJoin(filepath.Dir(path)); err == nil {
		t.Error("a folder is read")
	}
}
