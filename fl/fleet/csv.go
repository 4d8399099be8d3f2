package fleet

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/sys/regular"
)

// maxFile bounds the size of a file, and so what its rows take in memory.
const maxFile = 256 << 20

// maxName bounds the length of a client's name.
const maxName = 1000

// readCSV calls row for each row below the header of a file, with the name in the first
// column and the numbers in the others, and returns the file's SHA-256. Errors name file and
// line.
func readCSV(path string, columns []string, row func(name string, numbers []float64) error) (sum [32]byte, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return sum, err
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err != nil {
		return sum, err
	} else if info.Size() > maxFile {
		return sum, fmt.Errorf("%s: %d MiB; must be at most %d", path, info.Size()>>20, maxFile>>20)
	}
	digest := sha256.New()
	r := csv.NewReader(bufio.NewReaderSize(io.TeeReader(io.LimitReader(f, maxFile), digest), 1<<16))
	r.ReuseRecord, r.FieldsPerRecord = true, -1
	numbers := make([]float64, len(columns)-1)
	for header := true; ; header = false {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			return sum, fmt.Errorf("%s:%d: %w", path, bad.Line, bad.Err)
		} else if err != nil {
			return sum, fmt.Errorf("%s: %w", path, err)
		}
		if header {
			err = checkHeader(cells, columns)
		} else if err = parse(cells, columns, numbers); err == nil {
			err = row(strings.TrimSpace(cells[0]), numbers)
		}
		if err != nil {
			line, _ := r.FieldPos(0)
			return sum, fmt.Errorf("%s:%d: %w", path, line, err)
		}
	}
	return [32]byte(digest.Sum(nil)), nil
}

// checkHeader returns an error unless the cells are the columns' names.
func checkHeader(cells, columns []string) error {
	found := slices.Clone(cells)
	for i := range found {
		found[i] = strings.TrimSpace(strings.TrimPrefix(found[i], "\ufeff"))
	}
	if slices.Equal(found, columns) {
		return nil
	}
	return fmt.Errorf("the first line is %.200q; must be %s", strings.Join(cells, ","), strings.Join(columns, ","))
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

// readDevices reads the rows of Config.Devices. Where clients draw one, they are ordered by
// speed.
func (f *Fleet) readDevices(clients []Client) error {
	path, jitter := f.cfg.Devices, deviation(f.cfg.Jitter)
	names := map[string]int32{}
	f.rows = nil
	columns := []string{"client", "flops", "down", "up"}
	sum, err := readCSV(path, columns, func(name string, numbers []float64) error {
		if _, ok := names[name]; ok {
			return fmt.Errorf("client %q has two rows; leave one out", name)
		}
		for i, x := range numbers {
			if x <= 0 {
				return fmt.Errorf("%s = %v: must be greater than 0", columns[i+1], x)
			}
		}
		names[name] = int32(len(f.rows))
		f.rows = append(f.rows, row{Device{numbers[0], numbers[1], numbers[2]}, jitter, jitter})
		return nil
	})
	if err != nil {
		return fmt.Errorf("fleet.devices: %w", err)
	}
	f.read(sum)
	if f.of, err = f.assigned(path, names, clients); err != nil {
		return fmt.Errorf("fleet.devices: %w", err)
	}
	if f.of == nil {
		slices.SortStableFunc(f.rows, func(a, b row) int { return cmp.Compare(a.FLOPS, b.FLOPS) })
	}
	return nil
}
