package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/dashboard"
	"github.com/fedfast/fedfast/fl/study/workdir"
)

// dashboardAddress is where `ui` listens unless it is told otherwise.
const dashboardAddress = "127.0.0.1:8765"

func newUI(a *app) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "ui [DIR]",
		Short: "Show studies in a browser, including running ones",
		Args:  cobra.MaximumNArgs(1),
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			a.serves.Store(true)
			root := workdir.Home
			if len(args) > 0 {
				root = args[0]
			}
			return a.serveUI(cmd.Context(), root, listen)
		}),
	}
	cmd.Flags().StringVar(&listen, "listen", dashboardAddress, "loopback `ADDRESS:PORT` to listen on (port 0: any free port)")
	return cmd
}

// serveUI shows the studies below a directory until the context ends.
func (a *app) serveUI(ctx context.Context, root, listen string) error {
	if err := checkListen("--listen", listen); err != nil {
		return err
	}
	info, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return usageError{fmt.Errorf("%s: directory not found", root)}
	}
	if err != nil {
		return err
	}
	l, err := listening("--listen", listen)
	if err != nil {
		return err
	}
	server := &dashboard.Server{Root: root, Token: dashboard.NewToken()}
	at := firstPage(l, server, workdir.Holds(root))
	if a.json {
		if err := a.printJSON(map[string]string{"url": at}); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(a.out, at)
	}
	return server.Serve(ctx, l)
}
