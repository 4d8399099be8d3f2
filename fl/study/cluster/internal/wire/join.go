package wire

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

// Join is the content of the join file.
type Join struct {
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

// Write writes the join file, readable by its owner only.
func (j *Join) Write(study string) (string, error) {
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

// ReadJoin reads a join file.
func ReadJoin(path string) (*Join, error) {
	text, err := wholefile.Read(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, fmt.Errorf("--join: %w", err)
	}
	var j Join
	if err := json.Unmarshal(text, &j); err != nil || j.Key == "" && j.Secret == "" || len(j.URLs) == 0 {
		return nil, fmt.Errorf("--join %s: not a join file; `fedfast tune --cluster` "+
			"writes it to %s in the study's directory",
			path, filepath.Join(Folder, JoinFile))
	}
	if j.Fedfast != Protocol {
		return nil, fmt.Errorf("--join %s: protocol version %d, this fedfast has version %d; "+
			"use the coordinator's version of fedfast",
			path, j.Fedfast, Protocol)
	}
	if why := j.wrong(); why != "" {
		return nil, fmt.Errorf("--join %s: %s", path, why)
	}
	return &j, nil
}

// WaitJoin waits until the join file exists, unless the study has ended.
func WaitJoin(ctx context.Context, path string, ended func() bool, notice func(string)) (*Join, error) {
	for first := true; ; first = false {
		j, err := ReadJoin(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return j, err
		}
		if ended() {
			return nil, ErrOver
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

// RemoveJoin removes the join file of a study that has ended.
func RemoveJoin(path string) error {
	return errors.Join(os.Remove(path), os.Remove(filepath.Dir(path)))
}

// joined is a join file that was read, with the key in it.
type joined struct{ path, key string }

// moved reports whether the join file names another coordinator, or is gone.
func (f joined) moved() bool {
	j, err := ReadJoin(f.path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // a shared file system may fail for a moment
	}
	return j.Key+j.Secret != f.key
}
