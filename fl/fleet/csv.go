package fleet

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/sys/regular"
)

// maxFile bounds the size of a file, and so what its rows take in memory.
const maxFile = 256 << 20

// maxName bounds the length of a client's name.
const maxName = 1000

// maxLine bounds the length of a line, and so the number of its cells.
const maxLine = 1 << 20

// shortLines reads until a line is longer than maxLine.
type shortLines struct {
	io.Reader
	lines, length int // read so far; of the line that has begun
}

// Read reads as the reader does.
func (s *shortLines) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	for part := range bytes.Lines(p[:n]) {
		if s.length += len(part); s.length > maxLine {
			return 0, fmt.Errorf("line %d is longer than %d bytes; a line has one client's few numbers", s.lines+1, maxLine)
		}
		if part[len(part)-1] == '\n' {
			s.lines, s.length = s.lines+1, 0
		}
	}
	return n, err
}

// readCSV calls row for each row below the header of a file, with the name in the first
// column and the numbers in the others. The header is one of the lists of columns. Errors
// name file and line.
func readCSV(path string, headers [][]string, row func(columns []string, name string, numbers []float64) error) error {
	f, err := openFile(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	r := csv.NewReader(&shortLines{Reader: io.LimitReader(f, maxFile)})
	r.ReuseRecord, r.FieldsPerRecord = true, -1
	var columns []string
	var numbers []float64
	for header := true; ; header = false {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			return fmt.Errorf("%s:%d: %w", path, bad.Line, bad.Err)
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if header {
			columns, err = findHeader(cells, headers)
			numbers = make([]float64, max(1, len(columns))-1)
		} else if err = parse(cells, columns, numbers); err == nil {
			err = row(columns, strings.TrimSpace(cells[0]), numbers)
		}
		if err != nil {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
	}
}

// openFile opens a file of bounded size.
func openFile(path string) (*os.File, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("%s: %d MiB; must be at most %d", path, info.Size()>>20, maxFile>>20)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Fingerprint identifies the contents of the configuration's files by their SHA-256 in
// hexadecimal, the devices' before the intervals', with a + between them; empty without
// files.
func (c Config) Fingerprint() (string, error) {
	var digests []string
	for _, path := range []string{c.Devices, c.Availability} {
		if !IsFile(path) {
			continue
		}
		f, err := openFile(path)
		if err != nil {
			return "", fmt.Errorf("fleet: %w", err)
		}
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", fmt.Errorf("fleet: %w", err)
		}
		digests = append(digests, hex.EncodeToString(sum.Sum(nil)))
	}
	return strings.Join(digests, "+"), nil
}

// findHeader returns the list of columns whose names the cells are.
func findHeader(cells []string, headers [][]string) ([]string, error) {
	found := slices.Clone(cells)
	for i := range found {
		found[i] = strings.TrimSpace(strings.TrimPrefix(found[i], "\ufeff"))
	}
	var want []string
	for _, columns := range headers {
		if slices.Equal(found, columns) {
			return columns, nil
		}
		want = append(want, strings.Join(columns, ","))
	}
	return nil, fmt.Errorf("the first line is %.200q; must be %s", strings.Join(cells, ","), strings.Join(want, ", or "))
}

// parse reads the numbers of a row.
func parse(cells, columns []string, numbers []float64) error {
	if len(cells) != len(columns) {
		return fmt.Errorf("%d columns; must be %d: %s", len(cells), len(columns), strings.Join(columns, ","))
	}
	if n := len(cells[0]); n == 0 || n > maxName {
		return fmt.Errorf("client has %d characters; must have 1 to %d", n, maxName)
	}
	for i := range numbers {
		x, err := strconv.ParseFloat(strings.TrimSpace(cells[i+1]), 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%s = %.50q: must be a finite number", columns[i+1], cells[i+1])
		}
		numbers[i] = x
	}
	return nil
}

// assigned returns the number of each client among the names of a file, nil if clients
// draw one.
func (f *Fleet) assigned(path string, names map[string]int32, clients []Client) ([]int32, error) {
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no rows below the first line", path)
	}
	if f.cfg.Assign == assignDraw {
		return nil, nil
	}
	of := make([]int32, len(clients))
	for i, c := range clients {
		n, ok := names[c.ID]
		if !ok {
			return nil, fmt.Errorf("%s: no row for client %.100q of the dataset; add one, or set fleet.assign = %q", path, c.ID, assignDraw)
		}
		of[i] = n
	}
	return of, nil
}

// deviceColumns are the headers of a file of devices.
var deviceColumns = [][]string{
	{"client", "flops", "down", "up"},
	{"client", "flops", "down", "up", "memory"},
	{"client", secondsPerSample, "down", "up"},
	{"client", secondsPerSample, "down", "up", "memory"},
}

const secondsPerSample = "seconds_per_sample"

// readDevices reads the rows of Config.Devices. Where clients draw one, they are ordered by
// speed.
func (f *Fleet) readDevices(clients []Client) error {
	path, jitter := f.cfg.Devices, deviation(f.cfg.Jitter)
	names := map[string]int32{}
	f.rows = nil
	err := readCSV(path, deviceColumns, func(columns []string, name string, numbers []float64) error {
		if _, ok := names[name]; ok {
			return fmt.Errorf("client %q has two rows; leave one out", name)
		}
		for i, x := range numbers {
			if x <= 0 {
				return fmt.Errorf("%s = %v: must be greater than 0", columns[i+1], x)
			}
		}
		names[name] = int32(len(f.rows))
		d := Device{numbers[0], numbers[1], numbers[2], math.Inf(1)}
		if columns[1] == secondsPerSample {
			if !(f.cfg.SampleFLOPs > 0) {
				return errors.New("seconds_per_sample: the operations of the model for a sample are not known; use flops")
			}
			d.FLOPS = f.cfg.SampleFLOPs / numbers[0]
		}
		if len(numbers) > 3 {
			d.Memory = numbers[3]
		}
		f.rows = append(f.rows, row{d, jitter, jitter})
		return nil
	})
	if err != nil {
		return fmt.Errorf("fleet.devices: %w", err)
	}
	if f.of, err = f.assigned(path, names, clients); err != nil {
		return fmt.Errorf("fleet.devices: %w", err)
	}
	if f.of == nil {
		slices.SortStableFunc(f.rows, func(a, b row) int { return cmp.Compare(a.FLOPS, b.FLOPS) })
	}
	return nil
}
