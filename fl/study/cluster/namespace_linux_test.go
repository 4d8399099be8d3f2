package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/study"
)

// ip runs the command of that name.
func ip(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// attach connects a network namespace of its own with this one, or skips the test. It
// returns the name of the namespace and of this side's device.
func attach(t *testing.T, here, there string) (space, device string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	space, device = fmt.Sprintf("ff%d", os.Getpid()), fmt.Sprintf("ff%dh", os.Getpid())
	if err := ip(t.Context(), "netns", "add", space); err != nil {
		t.Skipf("there are no network namespaces: %v", err)
	}
	t.Cleanup(func() { _ = ip(context.Background(), "netns", "delete", space) }) // with both devices
	peer := device[:len(device)-1] + "t"
	for _, command := range []string{
		"link add " + device + " type veth peer name " + peer + " netns " + space,
		"address add " + here + "/30 dev " + device, "link set " + device + " up",
		"-n " + space + " address add " + there + "/30 dev " + peer, "-n " + space + " link set " + peer + " up",
		"-n " + space + " link set lo up",
	} {
		if err := ip(t.Context(), strings.Fields(command)...); err != nil {
			t.Skipf("a network namespace cannot be connected: %v", err)
		}
	}
	return space, device
}

// TestFaultNamespace has one of two workers in another network, encrypted. That is
// slow and loses packets where the system can have it so, and is cut for longer than
// the coordinator waits.
func TestFaultNamespace(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	space, device := attach(t, "10.213.77.1", "10.213.77.2")
	bad := exec.CommandContext(t.Context(), "tc", "qdisc", "add", "dev", device, "root", "netem", "delay", "10ms", "loss",
		"1%", "rate", "1gbit")
	if out, err := bad.CombinedOutput(); err != nil {
		t.Logf("the network is as good as it is: %v: %s", err, out)
	}
	r := newRun(t, func() study.Setup { return longer(t) })
	r.address, r.options.Silence = "10.213.77.1:0", 1500*time.Millisecond
	far := begin(t, "worker", r.dir, "ip", "netns", "exec", space)
	var near chan error
	r.after = func(round int) {
		switch round {
		case 6:
			r.cut(t, device, "down")
			near = r.worker(t.Context(), nil)
			r.await(2)
		case 30:
			r.cut(t, device, "up")
			r.await(3)
		}
	}
	got, err := r.tune(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := ends(t, near); err != nil {
		t.Error(err)
	}
	select {
	case <-far.ended:
	case <-time.After(60 * time.Second):
		t.Fatal("the worker in the namespace does not end")
	}
	if far.err != nil {
		t.Errorf("the worker in the namespace: %v", far.err)
	}
	if want := alone(t, longer(t)); got != want {
		t.Errorf("with a cluster\n%s\nin one process\n%s", got, want)
	}
	if r.told("1 lost") != 1 || r.told(" joined (") != 3 {
		t.Errorf("notices %q", r.notices)
	}
}

// cut sets a device up or down.
func (r *run) cut(t *testing.T, device, how string) {
	t.Helper()
	if err := ip(t.Context(), "link", "set", device, how); err != nil {
		t.Error(err)
	}
}
