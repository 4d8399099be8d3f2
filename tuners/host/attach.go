package host

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/tuners"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Attach is a tuner that somebody else started, for example in a debugger: fedfast
// speaks with it but neither starts nor ends it.
type Attach struct {
	Name    string // of the tuner
	Network string // "unix" or "tcp"
	Address string // path of the socket, or host:port
	PID     int    // of the process
}

// AttachEnv is the environment variable that lists tuners to attach to.
const AttachEnv = "FEDFAST_TUNER_REATTACH"

// attachForm is how a tuner to attach to is written.
var attachForm = regexp.MustCompile(`^([a-z0-9][a-z0-9_-]*)=(unix|tcp):(.+)@([0-9]+)$`)

// ParseAttach reads the text with which a tuner in debug mode says where it serves:
// NAME=unix:/path/of/socket@PID. Several are separated by commas; none is fine.
func ParseAttach(text string) ([]Attach, error) {
	var all []Attach
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		m := attachForm.FindStringSubmatch(item)
		if m == nil {
			return nil, fmt.Errorf("%q: must be NAME=unix:/path/of/socket@PID, as printed by a tuner started with %s=1", item, tuners.DebugEnv)
		}
		pid, err := strconv.Atoi(m[4])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", item, err)
		}
		all = append(all, Attach{Name: m[1], Network: m[2], Address: m[3], PID: pid})
	}
	return all, nil
}

// String writes the tuner as ParseAttach reads it.
func (a Attach) String() string {
	return fmt.Sprintf("%s=%s:%s@%d", a.Name, a.Network, a.Address, a.PID)
}

// attachTimeout is how long one call of an attached tuner may take at least:
// somebody may be looking at it in a debugger.
const attachTimeout = time.Hour

// attach connects to a tuner that runs already. The connection is all that there is to
// close when it fails.
func attach(ctx context.Context, ref Ref, o Options) (*process, error) {
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, ref.Attach.Network, ref.Attach.Address)
	}
	conn, err := grpc.NewClient("passthrough:///"+ref.Name, append(slices.Clone(dialOptions),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial))...)
	if err != nil {
		return nil, fmt.Errorf("cannot attach: %w", err)
	}
	p := &process{attached: true, stderr: &tail{}, conn: conn}
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	if err := p.ping(ctx); err != nil {
		p.kill(true)
		why := firstLine(err)
		if ctx.Err() != nil {
			why = fmt.Sprintf("no response within %v", o.StartTimeout)
		}
		return nil, fmt.Errorf("cannot attach at %s: %s; is process %d still running?", ref.Attach.Address, why, ref.Attach.PID)
	}
	return p, nil
}
