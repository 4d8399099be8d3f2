package settest

import (
	"fmt"
	"strconv"
	"strings"
)

// FEMNIST returns a LEAF file of n samples of one user: sample i has label i and
// only pixels of value.
func FEMNIST(user string, n int, value string) string {
	pixels := "[" + strings.TrimSuffix(strings.Repeat(value+", ", 784), ", ") + "]"
	var x, y []string
	for i := range n {
		x = append(x, pixels)
		y = append(y, strconv.Itoa(i))
	}
	return fmt.Sprintf(`{"users": [%q], "num_samples": [%d], "user_data": {%q: {"x": [%s], "y": [%s]}}}`, user, n, user,
		strings.Join(x, ","), strings.Join(y, ","))
}

// CIFAR10 returns a file of n records with labels 0, 1, ..., 9, 0, ... and pixels
// of the record's number.
func CIFAR10(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteByte(byte(i % 10))
		b.WriteString(strings.Repeat(string(rune(i%100)), 3072))
	}
	return b.String()
}

// CIFAR100 returns a file of n records: record i has the coarse label i%20 and the
// fine label i%100, and pixels of i%100 and more, the first of them i%100.
func CIFAR100(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteByte(byte(i % 20))
		b.WriteByte(byte(i % 100))
		for p := range 3072 {
			b.WriteByte(byte(i%100 + p%50))
		}
	}
	return b.String()
}
