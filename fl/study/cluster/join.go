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

// Folder is the folder of a study's directory that holds what its cluster needs, and
// JoinFile the file in it that lets a worker join: who reads it can.
const (
	Folder   = "cluster"
	JoinFile = "join"
)

// join is what the join file holds.
type join struct {
	// Fedfast is the version of the protocol, protocolVersion.
	Fedfast int `json:"fedfast_cluster"`
	// URLs are where the coordinator listens, Key the seed of the workers' nkey.
	URLs []string `json:"urls"`
	Key  string   `json:"key,omitempty"`
	// CA is the certificate that has signed the coordinator's, as PEM; empty on
	// loopback, where nothing is encrypted. Of a server of others it is what the
	// coordinator was given; without it the system's authorities hold.
	CA string `json:"ca,omitempty"`
	// Scope and Secret are, at a server of others, the study's names and the key
	// under which all is sealed; there is no Key then.
	Scope  string `json:"scope,omitempty"`
	Secret string `json:"secret,omitempty"`
}

// write writes the file for the owner of the study only.
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
		return nil, fmt.Errorf("--join %s: it is no join file; `fedfast tune --cluster` writes one as %s of its study", path, filepath.Join(Folder, JoinFile))
	}
	if j.Fedfast != protocolVersion {
		return nil, fmt.Errorf("--join %s: it is of version %d of the protocol, this fedfast speaks version %d: run the coordinator's version of fedfast", path, j.Fedfast, protocolVersion)
	}
	if why := j.wrong(); why != "" {
		return nil, fmt.Errorf("--join %s: %s", path, why)
	}
	return &j, nil
}

// waitJoin waits until the join file is there, but not for that of a study that has
// ended.
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
			notice(fmt.Sprintf("waiting for %s, which the coordinator writes", path))
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
