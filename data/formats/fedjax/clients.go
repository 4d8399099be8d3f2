package fedjax

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/data/formats/sqlitefile"
)

// Clients reads one client at a time, for sets that are too large for memory. Its
// methods may be called from several goroutines.
type Clients struct {
	// List holds the clients in the order of the file.
	List []Count
	file *sqlitefile.File
}

// Count tells how many examples a client has.
type Count struct {
	ID       string
	Examples int
	row      int64
}

// OpenClients opens a file and lists its clients.
func OpenClients(ctx context.Context, path string) (*Clients, error) {
	f, err := sqlitefile.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	c := &Clients{file: f}
	if err := c.list(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return c, nil
}

// maxRatio is how much zlib can shrink zeros, and so bounds what num_examples says of
// a client: an example has one byte at least.
const maxRatio = 1032

func (c *Clients) list(ctx context.Context) error {
	if err := c.file.Need(ctx, "federated_data", "client_id", "data", "num_examples"); err != nil {
		return err
	}
	seen := map[string]bool{}
	return c.file.Query(ctx, func(scan func(...any) error) error {
		var one Count
		var packed int64
		if err := scan(&one.row, &one.ID, &one.Examples, &packed); err != nil {
			return err
		}
		if most := min(packed, maxClient/maxRatio) * maxRatio; one.Examples < 0 || int64(one.Examples) > most {
			return fmt.Errorf("%s: client %.64q: num_examples is %d, must be 0 to %d, as many as its %d bytes can hold", c.file.Path, one.ID, one.Examples, most, packed)
		}
		if seen[one.ID] {
			return fmt.Errorf("%s: client %.64q is in it twice", c.file.Path, one.ID)
		}
		seen[one.ID] = true
		c.List = append(c.List, one)
		return nil
	}, "SELECT rowid, client_id, num_examples, length(data) FROM federated_data ORDER BY rowid")
}

// Read returns the arrays of client number i.
func (c *Clients) Read(ctx context.Context, i int) (arrays Arrays, err error) {
	client := &c.List[i]
	found := false
	err = c.file.Query(ctx, func(scan func(...any) error) error {
		var packed sql.RawBytes
		if err := scan(&packed); err != nil {
			return err
		}
		found = true
		if arrays, err = unpack(packed, client.Examples); err != nil {
			return fmt.Errorf("%s: client %.64q: %w", c.file.Path, client.ID, err)
		}
		return nil
	}, "SELECT data FROM federated_data WHERE rowid = ?", client.row)
	if err == nil && !found {
		err = fmt.Errorf("%s: client %.64q is not there any more", c.file.Path, client.ID)
	}
	return arrays, err
}

// Close closes the file.
func (c *Clients) Close() error { return c.file.Close() }
