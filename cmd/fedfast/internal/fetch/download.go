package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// maxSize bounds a file without a known length.
	maxSize = 64 << 30
	// maxAttempts bounds the requests to one place, whatever each brings.
	maxAttempts = 100
	maxPause    = 30 * time.Second
)

// errPlace marks a failure after which the same place need not be asked again.
var errPlace = errors.New("permanent error")

// downloaded downloads f to path from the first of its places that has it, and
// checks it.
func (o *Options) downloaded(ctx context.Context, f *File, path string) error {
	places := f.URLs
	if o.Mirror != "" {
		places = append([]string{strings.TrimSuffix(o.Mirror, "/") + "/" + f.Name}, places...)
	}
	var failures []error
	for _, url := range places {
		err := o.fromPlace(ctx, f, url, path)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", f.Name, ctx.Err())
		}
		failures = append(failures, err)
		if len(failures) < len(places) {
			o.Note(fmt.Sprintf("%v; trying the next place", err))
		}
	}
	return errors.Join(failures...)
}

// fromPlace downloads and checks f from one place. Content that is wrong after
// parts were put together is downloaded a second time, and no more.
func (o *Options) fromPlace(ctx context.Context, f *File, url, path string) error {
	for again := false; ; again = true {
		pieces, err := o.transfer(ctx, f, url, path)
		if err != nil {
			return fmt.Errorf("%s: %w", url, err)
		}
		err = o.verify(ctx, f, path)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errWrong) {
			return err
		}
		if err := errors.Join(os.Remove(path), forget(path)); err != nil {
			return err
		}
		if !pieces || again {
			return fmt.Errorf("%s: %w", url, err)
		}
	}
}

// transfer brings the whole of url to path, with as many requests as it takes.
// pieces reports whether more than one of them brought a part.
func (o *Options) transfer(ctx context.Context, f *File, url, path string) (pieces bool, err error) {
	best, pause, inRow := size(path), o.Pause, 0
	pieces = best > 0
	for attempt := 1; ; attempt++ {
		err := o.request(ctx, f, url, path)
		if err == nil {
			return pieces, nil
		}
		pieces = pieces || size(path) > 0
		if ctx.Err() != nil || errors.Is(err, errPlace) {
			return pieces, err
		}
		inRow++
		if n := size(path); n > best {
			best, inRow, pause = n, 0, o.Pause
		}
		if inRow >= o.Tries || attempt >= maxAttempts {
			if n := size(path); n > 0 {
				return pieces, fmt.Errorf("%w (after %d requests; %d bytes are kept in %s)", err, attempt, n, path)
			}
			return pieces, fmt.Errorf("%w (after %d requests)", err, attempt)
		}
		select {
		case <-ctx.Done():
			return pieces, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}

// request asks once for what path lacks of url and appends what comes. It
// returns nil when path holds all that the server has.
func (o *Options) request(ctx context.Context, f *File, url, path string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(o.Stall, func() { cancel(fmt.Errorf("no data for %v", o.Stall)) })
	defer stall.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("%w: %w", err, errPlace)
	}
	req.Header.Set("Accept-Encoding", "identity")
	have, tag := o.resumable(f, url, path)
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		if tag != "" {
			req.Header.Set("If-Range", tag)
		}
	}
	resp, err := o.Client.Do(req)
	if err != nil {
		return because(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // only read
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && resp.Header.Get("Content-Range") == fmt.Sprintf("bytes */%d", have) {
		return nil // path is whole
	}
	have, of, err := f.accept(resp, have)
	if err != nil {
		if errors.Is(err, errRestart) {
			return errors.Join(err, os.Remove(path), forget(path))
		}
		return err
	}
	if err := remember(path, url, resp.Header); err != nil {
		return err
	}
	out, err := openPart(path, have)
	if err != nil {
		return fmt.Errorf("%w: %w", err, errPlace)
	}
	err = o.receive(f, out, resp.Body, have, of, func() { stall.Reset(o.Stall) })
	if err := finished(out, err); err != nil {
		return because(ctx, err)
	}
	return nil
}

// because returns the cause for which a request was stopped, or err.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var inner interface{ Unwrap() error }
	if errors.As(err, &inner) && strings.HasPrefix(err.Error(), "Get ") {
		return inner.Unwrap() // without the address, which the caller adds
	}
	return err
}

// receive appends a body to out, which holds have of of bytes (of = 0: not
// known).
func (o *Options) receive(f *File, out io.Writer, body io.Reader, have, of int64, alive func()) error {
	limit := cmp.Or(of, f.most())
	buffer := make([]byte, 1<<16)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			alive()
			if have += int64(n); have > limit {
				return fmt.Errorf("more than %d bytes received: %w", limit, errPlace)
			}
			if _, err := out.Write(buffer[:n]); err != nil {
				return fmt.Errorf("%w: %w", err, errPlace)
			}
			o.Progress(f.Name, have, of)
		}
		switch {
		case errors.Is(err, io.EOF) && have < of:
			return fmt.Errorf("the connection ended after %d of %d bytes", have, of)
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("the connection ended after %d bytes", have)
		case err != nil:
			return err
		}
	}
}

// errRestart marks an answer after which the part at hand is of no use.
var errRestart = errors.New("the download begins again")

// accept judges the head of an answer to a request for what follows have bytes.
// It returns how many of these are to be kept, and the length of the whole file
// if the server tells it.
func (f *File) accept(resp *http.Response, have int64) (keep, of int64, err error) {
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
		of = max(0, resp.ContentLength)
	case code == http.StatusPartialContent && have > 0:
		start, total, ok := contentRange(resp.Header.Get("Content-Range"))
		if !ok || start != have || total > 0 && total < have {
			return 0, 0, fmt.Errorf("asked for what follows %d bytes and got Content-Range %q: %w", have, resp.Header.Get("Content-Range"), errRestart)
		}
		keep, of = have, total
	case code == http.StatusRequestedRangeNotSatisfiable && have > 0:
		return 0, 0, fmt.Errorf("the server has nothing after %d bytes: %w", have, errRestart)
	case code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= 500:
		return 0, 0, fmt.Errorf("the server answers %s", resp.Status)
	default:
		return 0, 0, fmt.Errorf("the server answers %s: %w", resp.Status, errPlace)
	}
	switch {
	case f.Size > 0 && !f.Hint && of > 0 && of != f.Size:
		return 0, 0, fmt.Errorf("the server says that it has %d bytes, it must have %d: %w", of, f.Size, errPlace)
	case of > f.most():
		return 0, 0, fmt.Errorf("the server says that it has %d bytes, it must have at most %d: %w", of, f.most(), errPlace)
	case f.Size > 0 && !f.Hint:
		of = f.Size
	}
	return keep, of, nil
}

// contentRange reads "bytes START-END/TOTAL"; total is 0 for "*".
func contentRange(text string) (start, total int64, ok bool) {
	rest, ok := strings.CutPrefix(text, "bytes ")
	span, all, cut := strings.Cut(rest, "/")
	first, _, dash := strings.Cut(span, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	if !ok || !cut || !dash || err != nil {
		return 0, 0, false
	}
	if all == "*" {
		return start, 0, true
	}
	total, err = strconv.ParseInt(all, 10, 64)
	return start, total, err == nil && total > 0
}

// resumable returns how many bytes of path the next request may build on, and
// the tag that the server must still have if the result cannot be checked.
func (o *Options) resumable(f *File, url, path string) (have int64, tag string) {
	have = size(path)
	if have == 0 {
		return 0, ""
	}
	was, tag := recalled(path)
	checked := !f.Hint && (f.SHA256 != "" || f.MD5 != "")
	switch {
	case was == url && tag != "":
		return have, tag
	case checked && (f.Size == 0 || have < f.Size):
		return have, ""
	}
	return 0, ""
}
