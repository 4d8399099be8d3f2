package fetch

import (
	"context"
	"crypto/md5" //nolint:gosec // what the sets' authors publish; it guards against damage
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// errWrong marks content that is not the file's.
var errWrong = errors.New("not the requested file")

// verify checks the content of the file f that is at path. What differs from a
// hint is noted only.
func (o *Options) verify(ctx context.Context, f *File, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	head := make([]byte, len(f.magic()))
	if _, err := io.ReadFull(in, head); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if string(head) != f.magic() {
		return fmt.Errorf("the content starts with %q, as no %s file does: %w", head, f.Name[strings.LastIndexByte(f.Name, '.'):], errWrong)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sha, md := sha256.New(), md5.New() //nolint:gosec // as above
	size, err := io.Copy(io.MultiWriter(sha, md), readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return in.Read(p)
	}))
	if err != nil {
		return err
	}
	shaText := hex.EncodeToString(sha.Sum(nil))
	var wrong string
	switch mdText := hex.EncodeToString(md.Sum(nil)); {
	case f.Size > 0 && size != f.Size:
		wrong = fmt.Sprintf("has %d bytes, must have %d", size, f.Size)
	case f.SHA256 != "" && shaText != f.SHA256:
		wrong = fmt.Sprintf("SHA-256 is %s, must be %s", shaText, f.SHA256)
	case f.MD5 != "" && mdText != f.MD5:
		wrong = fmt.Sprintf("MD5 is %s, must be %s", mdText, f.MD5)
	}
	switch {
	case wrong != "" && f.Hint:
		o.Note(fmt.Sprintf("%s: %s, by a third party's word: check it", f.Name, wrong))
	case wrong != "":
		return fmt.Errorf("%s: %w", wrong, errWrong)
	case f.SHA256 == "" && f.MD5 == "":
		o.Note(fmt.Sprintf("%s: no checksum is known; it has %d bytes and SHA-256 %s", f.Name, size, shaText))
	}
	return nil
}
