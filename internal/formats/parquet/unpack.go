package parquet

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// unzstd is the decoder of a file, made when it is needed.
type unzstd struct{ *zstd.Decoder }

var errLonger = errors.New("it unpacks to more")

// unpack unpacks what must become exactly size bytes; they are valid until the next call.
func (r *reader) unpack(codec format.CompressionCodec, packed []byte, size int64) (plain []byte, err error) {
	if codec == format.Uncompressed {
		if int64(len(packed)) != size {
			return nil, damaged("a page of %d bytes has %d", size, len(packed))
		}
		return packed, nil
	}
	r.unpacked = sized(r.unpacked, size)
	n := 0
	switch codec {
	case format.Snappy:
		if n, err = snappy.DecodedLen(packed); err == nil && int64(n) == size {
			_, err = snappy.Decode(r.unpacked, packed)
		}
	case format.Gzip:
		var in io.Reader
		if in, err = gzip.NewReader(bytes.NewReader(packed)); err == nil {
			n, err = fill(r.unpacked, in)
		}
	case format.Zstd:
		n, err = r.f.zstd.unpack(r.unpacked, packed)
	case format.Lz4Raw:
		if size > 0 {
			n, err = lz4.UncompressBlock(packed, r.unpacked)
		}
	default:
		return nil, fmt.Errorf("unsupported codec %v; save it with snappy, gzip or zstd", codec)
	}
	if err == nil && int64(n) != size {
		err = fmt.Errorf("it has %d bytes", n)
	}
	if err != nil {
		return nil, damaged("what must unpack to %d bytes: %w", size, err)
	}
	return r.unpacked, nil
}

// fill reads all that there is, which must not be more than b has room for.
func fill(b []byte, in io.Reader) (n int, err error) {
	n, err = io.ReadFull(in, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return n, nil // too short
	}
	if err != nil {
		return n, err
	}
	switch _, err := io.ReadFull(in, make([]byte, 1)); {
	case err == nil:
		return n, errLonger
	case errors.Is(err, io.EOF):
		return n, nil
	default:
		return n, err
	}
}

// maxWindow bounds what the decoder keeps; zstd's highest ordinary level has as much.
const maxWindow = 8 << 20

// unpack unpacks into b what must not be longer.
func (u *unzstd) unpack(b, packed []byte) (n int, err error) {
	if u.Decoder == nil {
		u.Decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return 0, err
		}
	}
	if err := u.Reset(bytes.NewReader(packed)); err != nil {
		return 0, err
	}
	return fill(b, u)
}
