package tff

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/formats/sqlitefile"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Clients reads the examples of one client at a time, for sets that are too large
// for memory. Its methods may be called from several goroutines.
type Clients struct {
	// List holds the clients, sorted by ID.
	List   []Count
	file   *sqlitefile.File
	splits []string
}

// Count tells how many examples a client has in each of the splits.
type Count struct {
	ID       string
	Examples []int32
}

// OpenClients opens a file and lists the clients of the splits. The file needs an
// index to find the examples of a client, as TFF's have.
func OpenClients(ctx context.Context, path string, splits []string) (*Clients, error) {
	f, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	c := &Clients{file: f, splits: splits}
	err = c.indexed(ctx)
	if err == nil {
		_, err = c.count(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	slices.SortFunc(c.List, func(a, b Count) int { return strings.Compare(a.ID, b.ID) })
	return c, nil
}

// count lists the clients in the order of client_metadata and returns the place of each in
// the list.
func (c *Clients) count(ctx context.Context) (known map[string]int, err error) {
	f := c.file
	have := map[string]bool{}
	known = map[string]int{}
	var client, split sql.RawBytes
	var n int64
	err = f.Query(ctx, func(scan func(...any) error) error {
		if err := scan(&client, &split, &n); err != nil {
			return err
		}
		if !have[string(split)] { // a new text for each split, not for each row
			have[string(split)] = true
		}
		i := slices.Index(c.splits, string(split))
		if i < 0 {
			return nil
		}
		if n < 0 || n > f.Room() {
			return fmt.Errorf("%s: split %s, client %.64q: num_examples is %d, must be 0 to %d, as many rows as the file has room for",
				f.Path, split, client, n, f.Room())
		}
		at, seen := known[string(client)]
		if !seen {
			at = len(c.List)
			c.List = append(c.List, Count{ID: string(client), Examples: slices.Repeat([]int32{unknown}, len(c.splits))})
			known[c.List[at].ID] = at
		}
		counts := c.List[at].Examples
		if counts[i] != unknown {
			return fmt.Errorf("%s: split %s, client %.64q: client_metadata counts it twice", f.Path, split, client)
		}
		counts[i] = int32(min(n, math.MaxInt32))
		return nil
	}, "SELECT client_id, split_name, num_examples FROM client_metadata")
	if err != nil {
		return nil, err
	}
	for _, one := range c.List {
		for i, n := range one.Examples {
			one.Examples[i] = max(0, n)
		}
	}
	for _, s := range c.splits {
		if !have[s] {
			only := cmp.Or(oneline.Names(slices.Sorted(maps.Keys(have))), "an empty client_metadata")
			return nil, fmt.Errorf("%s: has no split %s, only %s", f.Path, s, only)
		}
	}
	return known, nil
}

// unknown marks a split of which client_metadata has not told yet.
const unknown = -1

// indexed checks that SQLite finds a client's examples without reading all.
func (c *Clients) indexed(ctx context.Context) error {
	found := false
	err := c.file.Query(ctx, func(scan func(...any) error) error {
		var id, parent, unused int
		var detail string
		if err := scan(&id, &parent, &unused, &detail); err != nil {
			return err
		}
		found = found || strings.HasPrefix(detail, "SEARCH ") && strings.Contains(detail, "client_id=")
		return nil
	}, "EXPLAIN QUERY PLAN "+selectClient, "", "")
	if err == nil && !found {
		err = fmt.Errorf("%s: has no index to find the examples of a client; make one by the SQL: CREATE INDEX by_client ON examples (split_name, client_id)", c.file.Path)
	}
	return err
}

const selectClient = "SELECT serialized_example_proto FROM examples WHERE split_name = ? AND client_id = ? ORDER BY rowid"

// Read calls each with the examples of client number i in the split, in the order
// of the file. e is valid until each returns.
func (c *Clients) Read(ctx context.Context, i int, split string, each func(e *Example) error) error {
	client := &c.List[i]
	left := int(client.Examples[slices.Index(c.splits, split)])
	named := func(err error) error {
		return fmt.Errorf("%s: split %s, client %.64q: %w", c.file.Path, split, client.ID, err)
	}
	var e Example
	var message sql.RawBytes
	at := 0
	err := c.file.Query(ctx, func(scan func(...any) error) error {
		if err := scan(&message); err != nil {
			return err
		}
		if at++; at > left {
			return named(errors.New("more examples than client_metadata says"))
		}
		err := e.Decode(message)
		if err == nil {
			err = each(&e)
		}
		if err != nil {
			return named(fmt.Errorf("example %d: %w", at, err))
		}
		return nil
	}, selectClient, split, client.ID)
	if err == nil && at < left {
		err = named(fmt.Errorf("%d examples fewer than client_metadata says; is the file complete?", left-at))
	}
	return err
}

// First calls each with the first n examples of the split, in the order of the
// file. e is valid until each returns.
func (c *Clients) First(ctx context.Context, split string, n int, each func(e *Example) error) error {
	var e Example
	var message sql.RawBytes
	at, wanted := 0, false
	enough := errors.New("enough")
	err := c.file.Query(ctx, func(scan func(...any) error) error {
		if at == n {
			return enough
		}
		if err := scan(&wanted, &message); err != nil {
			return err
		}
		if !wanted {
			return nil
		}
		at++
		err := e.Decode(message)
		if err == nil {
			err = each(&e)
		}
		if err != nil {
			return fmt.Errorf("%s: split %s, example %d: %w", c.file.Path, split, at, err)
		}
		return nil
	}, "SELECT split_name = ?1, CASE WHEN split_name = ?1 THEN serialized_example_proto END FROM examples ORDER BY rowid", split)
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

// Close closes the file.
func (c *Clients) Close() error { return c.file.Close() }
