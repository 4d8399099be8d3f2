package store

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/regular"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// A pack is a study in one file: lines of JSON, compressed by gzip. The first is a packHead, the
// last a Seal over all bytes before it, and each between them a packRow of the journal.
const (
	packFormat = 1
	// mostPacked bounds the bytes of a pack before compression, mostNumber the numbers of trials and rounds.
	mostPacked = 128 << 20
	mostNumber = 1 << 30
)

// packed are the kinds of rows of a pack: all but those about workers and pauses.
var packed = []string{
	KindStudy, KindMoved, KindData, KindPriors, KindSession, KindSuggest, KindReport, KindTrial, KindPlan, KindRound,
	KindRung, KindFail, KindFinalist, KindLocal, KindAlone, KindClients, KindResult, KindBaseline, KindConfiguration,
	KindAct,
}

// packHead says what follows.
type packHead struct {
	Pack   int `json:"fedfast_pack"`
	Record int `json:"record"`
}

// packRow is a row of the journal.
type packRow struct {
	Kind  string          `json:"kind"`
	Trial int             `json:"trial"`
	Round int             `json:"round"`
	At    int64           `json:"at"`
	Data  json.RawMessage `json:"data"`
}

// Seal identifies what a pack holds.
type Seal struct {
	// SHA256 is the digest, in hexadecimal, of all lines before it.
	SHA256 string `json:"sha256"`
	// Key is the public Ed25519 key, of 32 bytes, of who signed the digest, and Signature the
	// signature; nil for nobody.
	Key       []byte `json:"key,omitempty"`
	Signature []byte `json:"signature,omitempty"`
}

// signed is what a Seal signs.
func (s *Seal) signed() []byte { return []byte("fedfast pack\n" + s.SHA256) }

// forged reports whether the seal has something else than a signature by its key, or nothing.
func (s *Seal) forged() bool {
	if len(s.Key) != ed25519.PublicKeySize {
		return len(s.Key)+len(s.Signature) > 0
	}
	return !ed25519.Verify(s.Key, s.signed(), s.Signature)
}

// Pack writes the record of a study to a file, whole or not at all. A key, unless it is nil, signs it.
func (v *View) Pack(ctx context.Context, path string, key ed25519.PrivateKey) (seal Seal, err error) {
	err = wholefile.Stream(path, 0o644, func(w io.Writer) error {
		zip, _ := gzip.NewWriterLevel(w, gzip.BestCompression) // a known level
		sum, size := sha256.New(), 0
		line := func(x any) error {
			var text bytes.Buffer
			e := json.NewEncoder(&text)
			e.SetEscapeHTML(false) // rows stay as they are
			err := e.Encode(x)
			if size += text.Len(); err == nil && size > mostPacked {
				err = fmt.Errorf("%s: its record is longer than a pack can be, %s", v.dir, memory.Size(mostPacked))
			}
			if err == nil {
				_, err = io.MultiWriter(zip, sum).Write(text.Bytes())
			}
			return err
		}
		if err := line(packHead{packFormat, formatVersion}); err != nil {
			return err
		}
		if err := v.Each(ctx, func(r Row) error {
			return line(packRow{r.Kind, r.Trial, r.Round, r.At, r.Data})
		}, packed...); err != nil {
			return err
		}
		seal.SHA256 = hex.EncodeToString(sum.Sum(nil))
		if key != nil {
			seal.Key, seal.Signature = key[ed25519.PrivateKeySize-ed25519.PublicKeySize:], ed25519.Sign(key, seal.signed())
		}
		return errors.Join(line(seal), zip.Close())
	})
	return seal, err
}

// Unpack reads a study into memory, from its directory or a file of Pack, whose seal it returns: what is
// appended to it goes nowhere else. A file that is damaged, or more than Pack writes, is an error.
func Unpack(ctx context.Context, path string) (s *Store, seal *Seal, err error) {
	if s, err = inMemory(ctx, path); err != nil {
		return nil, nil, err
	}
	if isFile(path) {
		if seal, err = s.unpack(path); err != nil {
			err = fmt.Errorf("%s: %w", oneline.Path(path), err)
		}
	} else if v, wrong := Look(ctx, path); wrong != nil {
		err = wrong
	} else {
		err = errors.Join(v.Each(ctx, s.put), s.Flush(), v.Close())
	}
	if err != nil {
		err = errors.Join(err, s.Close())
	}
	return s, seal, err
}

// isFile reports whether a path is a file, and no directory.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Without returns a copy in memory of all but some rows, and these.
func (s *Store) Without(ctx context.Context, some func(Row) bool) (rest *Store, rows []Row, err error) {
	if rest, err = inMemory(ctx, s.dir); err != nil {
		return nil, nil, err
	}
	err = s.Each(ctx, func(r Row) error {
		if some(r) {
			rows = append(rows, r)
			return nil
		}
		return rest.put(r)
	})
	return rest, rows, errors.Join(err, rest.Flush())
}

// inMemory returns a store without a file and without snapshots, of the study at a path.
func inMemory(ctx context.Context, dir string) (*Store, error) {
	db, err := openBounded(":memory:", "PRAGMA cache_size(-1024)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each has a database of its own
	s := &Store{dir: dir, db: db, memory: true}
	s.timer = time.AfterFunc(time.Hour, func() { _ = s.Flush() }) // the error stands for the next caller
	if err := prepare(ctx, db, false); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// put appends a row that was recorded before.
func (s *Store) put(r Row) error { return s.add(len(r.Data), func(b *batch) { s.append(b, r) }) }

// unpack reads a pack into an empty store.
func (s *Store) unpack(path string) (seal *Seal, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was read only
	var head packHead
	zip, err := gzip.NewReader(bufio.NewReader(f))
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(zip, mostPacked+1))
	}
	first, rest, _ := bytes.Cut(text, []byte{'\n'})
	end := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte{'\n'}), '\n') + 1
	switch {
	case json.Unmarshal(first, &head) != nil || head.Pack == 0:
		return nil, errors.New("not a packed study, or damaged; `fedfast study pack` writes them")
	case head != packHead{packFormat, formatVersion}:
		return nil, fmt.Errorf("it is a pack of format %d with a record of format %d, want %d and %d; "+
			"use the version of fedfast that wrote it", head.Pack, head.Record, packFormat, formatVersion)
	case len(text) > mostPacked:
		return nil, fmt.Errorf("it holds more than %s", memory.Size(mostPacked))
	case err != nil:
		return nil, fmt.Errorf("damaged: %w", err)
	case strictly(text[end:], &seal) != nil || seal == nil || seal.SHA256 != fmt.Sprintf("%x", sha256.Sum256(text[:end])):
		return nil, errors.New("damaged: it does not end in a seal with its SHA-256")
	case seal.forged():
		return nil, errors.New("its signature is not one by the key that it names")
	}
	n := 0
	for line := range bytes.Lines(rest[:max(0, end-len(first)-1)]) {
		var r packRow
		err := strictly(line, &r)
		switch {
		case err != nil:
		case !slices.Contains(packed, r.Kind) || (r.Kind == KindStudy) != (n == 0):
			err = fmt.Errorf("a row of kind %s there", oneline.Name(r.Kind))
		case r.Trial < -16 || r.Trial > mostNumber || r.Round < 0 || r.Round > mostNumber || len(r.Data) > maxData:
			err = fmt.Errorf("round %d of trial %d, of %d bytes", r.Round, r.Trial, len(r.Data))
		default:
			err = s.put(Row{At: r.At, Kind: r.Kind, Trial: r.Trial, Round: r.Round, Data: r.Data})
		}
		if n++; err != nil {
			return nil, fmt.Errorf("damaged in line %d: %w", n+1, err)
		}
	}
	return seal, s.Flush()
}

// strictly reads a line of JSON without other keys.
func strictly(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
