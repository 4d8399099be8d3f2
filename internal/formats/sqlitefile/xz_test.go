package sqlitefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	packedxz "github.com/therootcompany/xz"
	"github.com/ulikunitz/xz"

	"github.com/fedfast/fedfast/internal/test/memtest"
)

// packedXZ returns an xz stream of a text, in blocks, checked in a way.
func packedXZ(t testing.TB, text string, check byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := xz.WriterConfig{CheckSum: check, NoCheckSum: check == 0, BlockSize: 70_000}.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// TestXZ reads what another implementation packs: blocks, checks, streams one after the
// other with zeros between; and a block of which a byte has changed.
func TestXZ(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var words strings.Builder
	for range 20_000 {
		words.WriteString([]string{"to be ", "or ", "not "}[r.IntN(3)])
	}
	text := magic + words.String() + strings.Repeat("x", 200_000)
	for _, check := range []byte{0, xz.CRC32, xz.CRC64, xz.SHA256} {
		one := packedXZ(t, text, check)
		for name, content := range map[string][]byte{"one": one, "two": bytes.Join([][]byte{one, one}, make([]byte, 8))} {
			var out bytes.Buffer
			if _, err := expand(&out, bytes.NewReader(content), 1<<30); err != nil ||
				strings.ReplaceAll(out.String(), text, "") != "" || out.Len() < len(text) {
				t.Errorf("check %d, %s: %d bytes of %d, error %v", check, name, out.Len(), len(text), err)
			}
		}
		for n := range 40 {
			if _, err := expand(io.Discard, bytes.NewReader(one[:len(one)-1-n]), 1<<30); !errors.Is(err, packedxz.ErrBuf) {
				t.Errorf("check %d, %d bytes cut off: error %v", check, 1+n, err)
			}
		}
		changed := bytes.Clone(one)
		changed[bytes.Index(changed, []byte("YZ"))-40] ^= 1
		changed[200] ^= 1
		if _, err := expand(io.Discard, bytes.NewReader(changed), 1<<30); check != 0 && err == nil {
			t.Errorf("check %d: a changed byte is not seen", check)
		}
	}
}

// TestXZDictionaries: many small blocks that name a large dictionary take one, and no more than the most.
func TestXZDictionaries(t *testing.T) {
	stream := packedXZ(t, magic, xz.CRC32)
	n := 4 * (int(stream[12]) + 1)
	const mib64, mib96, gib4 = 28, 29, 40
	for size, want := range map[byte]error{
		mib64: packedxz.ErrBuf, mib96: packedxz.ErrMemlimit, gib4: packedxz.ErrMemlimit,
	} {
		header := bytes.Clone(stream[12 : 12+n])
		header[bytes.Index(header, []byte{0x21, 1})+2] = size
		binary.LittleEndian.PutUint32(header[n-4:], crc32.ChecksumIEEE(header[:n-4]))
		block := append(bytes.Clone(header), 1, 0, 15) // not packed, with a new dictionary
		block = append(append(append(block, magic...), 0), crcOf(magic)...)
		content := append(bytes.Clone(stream[:12]), bytes.Repeat(block, 100)...)
		memtest.Bounded(t, len(content)+maxXZ, func() {
			if _, err := expand(io.Discard, bytes.NewReader(content), 150<<20); !errors.Is(err, want) {
				t.Errorf("dictionary %d: error %v, want %v", size, err, want)
			}
		})
	}
}

// crcOf returns the check of a block.
func crcOf(text string) []byte {
	return binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text)))
}
