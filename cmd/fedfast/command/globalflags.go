package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/dashboard"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/workdir"
)

// acting lists the global flags that do something in a command, by its path; that of a
// group holds for its commands. The help of others leaves them out.
var acting = map[string][]string{
	"run":            {"seed", "workers", "cpu", "json", "log"},
	"tune":           {"seed", "workers", "cpu", "json", "log", "tuner-path", "tuner-reattach"},
	"worker":         {"workers", "cpu", "log"},
	"eval":           {"seed", "workers", "cpu", "json", "log", "tuner-path", "tuner-reattach"},
	"study":          {"json"},
	"study resume":   {"workers", "cpu", "json", "log", "tuner-path", "tuner-reattach"},
	"report":         {"json"},
	"figure":         {"json"},
	"ui":             {"json", "log"},
	"data":           {"json"},
	"data info":      {"seed", "json"},
	"data partition": {"seed", "json"},
	"data fleet":     {"seed", "json"},
	"dp":             {"json"},
	"model":          {"cpu", "json"},
	"model genotype": {"seed", "json"},
	"tuner":          {"json"},
	"tuner list":     {"json", "log", "tuner-path", "tuner-reattach"},
	"tuner check":    {"seed", "json", "log", "tuner-path", "tuner-reattach"},
	"list":           {"json"},
	"list tuners":    {"json", "log", "tuner-path", "tuner-reattach"},
	"bench":          {"workers", "cpu", "json"},
	"repro":          {"seed", "workers", "cpu", "json", "log", "tuner-path", "tuner-reattach"},
	"repro list":     {"workers", "cpu", "json"},
	"version":        {"cpu", "json"},
	"completion":     {},
}

// acts says whether a global flag does something in a command.
func acts(c *cobra.Command, flag string) bool {
	_, path, below := strings.Cut(c.CommandPath(), " ")
	for below {
		if flags, ok := acting[path]; ok {
			return slices.Contains(flags, flag)
		}
		at := strings.LastIndex(path, " ")
		if at < 0 {
			break
		}
		path = path[:at]
	}
	return true
}

// helpGroups are the headings of commands in the program's help.
var helpGroups = []struct {
	title    string
	commands []string
}{
	{"Train and tune:", []string{"run", "tune", "worker"}},
	{"Look at studies:", []string{"study", "report", "figure", "ui", "eval"}},
	{"Prepare:", []string{"data", "model", "dp", "tuner", "list"}},
	{"Measure and reproduce:", []string{"bench", "repro"}},
}

// arrangeHelp groups the commands in the help of the program, and leaves global flags out
// of the help of commands in which they do nothing.
func arrangeHelp(root *cobra.Command) {
	for _, g := range helpGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range root.Commands() {
			if slices.Contains(g.commands, c.Name()) {
				c.GroupID = g.title
			}
		}
	}
	usage := root.UsageFunc()
	root.SetUsageFunc(func(c *cobra.Command) error {
		var hidden []*pflag.Flag
		root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !acts(c, f.Name) {
				f.Hidden = true
				hidden = append(hidden, f)
			}
		})
		defer func() {
			for _, f := range hidden {
				f.Hidden = false
			}
		}()
		return usage(c)
	})
}

// uiFlag is the flag --ui: where a study is shown while this process trains it, with
// buttons that stop its trials; empty for nowhere.
type uiFlag struct {
	listen string
	end    func() // of the server, nil before it is opened
}

func (u *uiFlag) addFlags(f *pflag.FlagSet) {
	f.StringVar(&u.listen, "ui", "", "show progress in a browser, with buttons to stop trials or the study; the address is printed (--ui=`ADDRESS:PORT` sets a loopback address)")
	f.Lookup("ui").NoOptDefVal = "127.0.0.1:0"
}

// validate checks the address and what it is given with.
func (u *uiFlag) validate(seeds bool) error {
	switch {
	case u.listen == "":
		return nil
	case seeds:
		return usageError{errors.New("--ui: cannot be combined with --seeds; use `fedfast ui` to show several studies")}
	}
	return checkListen("--ui", u.listen)
}

// checkListen checks an address at which pages are served.
func checkListen(flag, listen string) error {
	if at, err := netip.ParseAddrPort(listen); err != nil || !at.Addr().IsLoopback() {
		return usageError{fmt.Errorf("%s %s: must be a loopback address with a port, such as %s; for remote access use ssh -L", flag, listen, dashboardAddress)}
	}
	return nil
}

// listening takes an address at which pages are served.
func listening(flag, listen string) (net.Listener, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w; use port 0 for any free port", flag, listen, err)
	}
	return l, nil
}

// firstPage is the address of a server's first page with its token: the list, or the study that its
// root is.
func firstPage(l net.Listener, s *dashboard.Server, study bool) string {
	at := url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}
	query := url.Values{"token": {s.Token}}
	if study {
		at.Path = "/study"
		query.Set("dir", ".")
	}
	at.RawQuery = query.Encode()
	return at.String()
}

// open serves the study when it can begin; dir then tells where it is.
func (u *uiFlag) open(a *app, dir func() string, o *workdir.Options) {
	if u.listen == "" {
		return
	}
	ready := o.Ready
	o.Ready = func(ctx context.Context, s *study.Setup) error {
		if err := ready(ctx, s); err != nil {
			return err
		}
		l, err := listening("--ui", u.listen)
		if err != nil {
			return err
		}
		s.Control = &study.Control{}
		server := &dashboard.Server{Root: dir(), Control: s.Control, Token: dashboard.NewToken()}
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := server.Serve(ctx, l); err != nil {
				a.notice("--ui: " + err.Error())
			}
		}()
		u.end = func() {
			cancel()
			<-ended
		}
		a.notice("watch the study, and stop it or its trials, at " + firstPage(l, server, true))
		return nil
	}
}

// close ends the server.
func (u *uiFlag) close() {
	if u.end != nil {
		u.end()
		u.end = nil
	}
}
