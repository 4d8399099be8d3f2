package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// Folder is the folder of a cluster in the study's directory, and JoinFile the file in it
// that workers need to join. Whoever can read it can join.
const (
	Folder   = "cluster"
	JoinFile = "join"
)

// join is the content of the join file.
type join struct {
	// Fedfast is the version of the protocol, protocolVersion.
	Fedfast int `json:"fedfast_cluster"`
	// URLs are the addresses of the server, Key the seed of the workers' nkey.
	URLs []string `json:"urls"`
	Key  string   `json:"key,omitempty"`
	// CA is the certificate of the authority that signed the server's, as PEM. It is
	// empty on loopback, where connections are not encrypted. For an external server
	// it is the coordinator's --ca; empty means the system's authorities.
	CA string `json:"ca,omitempty"`
	// Scope and Secret are, for an external server, the prefix of the study's names
	// and the encryption key; there is no Key then.
	Scope  string `json:"scope,omitempty"`
	Secret string `json:"secret,omitempty"`
}

// write writes the join file, readable by its owner only.
func (j *join) write(study string) (string, error) {
	folder := filepath.Join(study, Folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("cluster: %w", err)
	}
	text, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, JoinFile)
	return path, wholefile.Write(path, append(text, '\n'), 0o600)
}

// readJoin reads a join file.
func readJoin(path string) (*join, error) {
	text, err := readSmall(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, fmt.Errorf("--join: %w", err)
	}
	var j join
	if err := json.Unmarshal(text, &j); err != nil || j.Key == "" && j.Secret == "" || len(j.URLs) == 0 {
		return nil, fmt.Errorf("--join %s: not a join file; `fedfast tune --cluster` writes it to %s in the study's directory", path, filepath.Join(Folder, JoinFile))
	}
	if j.Fedfast != protocolVersion {
		return nil, fmt.Errorf("--join %s: protocol version %d, this fedfast has version %d; use the coordinator's version of fedfast", path, j.Fedfast, protocolVersion)
	}
	if why := j.wrong(); why != "" {
		return nil, fmt.Errorf("--join %s: %s", path, why)
	}
	return &j, nil
}

// waitJoin waits until the join file exists, unless the study has ended.
func waitJoin(ctx context.Context, path string, ended func() bool, notice func(string)) (*join, error) {
	for first := true; ; first = false {
		j, err := readJoin(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return j, err
		}
		if ended() {
			return nil, errOver
		}
		if first {
			notice(fmt.Sprintf("waiting for %s from the coordinator", path))
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// removeJoin removes the join file of a study that has ended.
func removeJoin(path string) error {
	return errors.Join(os.Remove(path), os.Remove(filepath.Dir(path)))
}
