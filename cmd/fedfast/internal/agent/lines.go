package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds the bytes of a message.
const maxLine = 4 << 20

// sane passes on the lines of a client that are messages, and answers the others itself: the
// SDK ends the session at the first of them.
type sane struct {
	mu  sync.Mutex
	out io.Writer
}

// Write writes whole lines, also beside answers to lines that are no messages.
func (s *sane) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

// Close leaves the output open.
func (s *sane) Close() error { return nil }

// transport connects the SDK to a client's lines.
func transport(in io.Reader, out io.Writer) mcp.Transport {
	s := &sane{out: out}
	read, write := io.Pipe()
	go func() { _ = write.CloseWithError(s.pass(in, write)) }()         // the end of the input ends the session
	return &mcp.IOTransport{Reader: read, Writer: s, MaxLineLength: -1} // lines are bounded here
}

// refuse answers a line that is no message, whose number is unknown.
func (s *sane) refuse(code int, why string) error {
	_, err := fmt.Fprintf(s, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, why)
	return err
}

// pass passes on lines until the input ends.
func (s *sane) pass(in io.Reader, to io.Writer) error {
	for lines := bufio.NewReaderSize(in, maxLine); ; {
		line, err := lines.ReadSlice('\n')
		tooLong := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		_, no := jsonrpc.DecodeMessage(line)
		var failed error
		switch {
		case tooLong:
			failed = s.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("invalid request: a line has at most %d MiB", maxLine>>20))
		case len(bytes.TrimSpace(line)) == 0:
		case !json.Valid(line):
			failed = s.refuse(jsonrpc.CodeParseError, "parse error: a line is not JSON")
		case no != nil:
			failed = s.refuse(jsonrpc.CodeInvalidRequest, "invalid request: a line must be one message of JSON-RPC 2.0")
		default:
			_, failed = to.Write(line)
		}
		if failed != nil {
			return failed
		}
		if err != nil {
			return err
		}
	}
}
