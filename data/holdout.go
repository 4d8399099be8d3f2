package data

import (
	"fmt"
	"math"

	"github.com/fedfast/fedfast/internal/draw"
)

// holdOut moves Config.UnseenClients of fed's clients, drawn by the seed, to its unseen ones.
func (c *Config) holdOut(fed *Federation) error {
	if c.UnseenClients == 0 {
		return nil
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("data.unseen_clients = %v: "+format, append([]any{c.UnseenClients}, args...)...)
	}
	n, tested := c.UnseenClients, []int32{}
	if n < 1 {
		n = math.Round(n * float64(len(fed.Clients)))
	}
	for i := range fed.Clients {
		if fed.Clients[i].Test.Len() > 0 {
			tested = append(tested, int32(i))
		}
	}
	switch {
	case n != math.Floor(n):
		return bad("must be a number of clients, or below 1 their share")
	case c.Proxy > 0 && !c.dealt():
		return bad("data.proxy sets samples of all clients apart before some are held out; leave one of the two out")
	case fed.Test.Len() > 0:
		return bad("the test set of %s is of no client, and unseen clients need test samples; set data.split to three numbers such as %q", c.Name, defaultSplit)
	case n < 1 || int(n) >= len(fed.Clients):
		return bad("is %.0f of %d clients; at least 1 must be held out, and 1 must train", n, len(fed.Clients))
	case int(n) > len(tested):
		return bad("only %d of %d clients have test samples", len(tested), len(fed.Clients))
	}
	draw.New(c.Seed, draw.HoldOut).Shuffle(tested)
	held := make([]bool, len(fed.Clients))
	for _, i := range tested[:int(n)] {
		held[i] = true
	}
	var kept []Client
	samples := 0
	for i, client := range fed.Clients {
		if !held[i] {
			kept = append(kept, client)
			continue
		}
		fed.Unseen = append(fed.Unseen, client)
		samples += client.Train.Len() + client.Val.Len() + client.Test.Len()
	}
	fed.Notes = append(fed.Notes, fmt.Sprintf("%.0f of %d clients, with %d samples, never train (data.unseen_clients)", n,
		len(fed.Clients), samples))
	fed.Clients = kept
	return nil
}
