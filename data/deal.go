package data

import (
	"fmt"
	"strconv"

	"github.com/fedfast/fedfast/data/internal/draw"
	"github.com/fedfast/fedfast/data/partition"
)

// deal makes writers of a set without clients: src holds train training
// examples, then test examples. A split that keeps the files' test samples
// deals both kinds, in the proportion of the set; else all samples are dealt
// alike. Every writer gets as many as every other.
func (c *Config) deal(fed *Federation, src source, labels []int32, train int) ([]writer, error) {
	parts, err := parseSplit(c.Split)
	if err != nil {
		return nil, err
	}
	if !parts.files {
		fed.Notes = append(fed.Notes, fmt.Sprintf("the files' %d training and %d test samples were merged before they were dealt (data.split = %q)", train, len(labels)-train, c.Split))
		train = len(labels)
	}
	clients, each := c.Clients, c.Samples
	if each == 0 {
		each = train / clients
	}
	if each > 0 && clients > train/each {
		clients = train / each
		fed.Notes = append(fed.Notes, fmt.Sprintf("%d samples are enough for %d clients of %d (data.samples), not for %d (data.clients)", train, clients, each, c.Clients))
	}
	if each == 0 || clients == 0 {
		return nil, fmt.Errorf("data.clients = %d, data.samples = %d: there are %d samples to deal", c.Clients, c.Samples, train)
	}
	eachTest := each * (len(labels) - train) / train
	key := draw.Key(c.Seed, draw.Partition)
	var trains, tests [][]int32
	if c.Partition == partitionDirichlet {
		mixes := partition.Dirichlet(labels[:train], fed.Classes, clients, c.Alpha, key)
		trains = partition.ByMix(labels[:train], mixes, each, key)
		tests = partition.ByMix(labels[train:], mixes, eachTest, draw.Key(key, 1))
	} else {
		trains = partition.IID(train, clients, each, key)
		tests = partition.IID(len(labels)-train, clients, eachTest, draw.Key(key, 1))
	}
	fed.Notes = append(fed.Notes, fmt.Sprintf("dealt (%s) to %d clients of %d samples%s", c.Partition, clients, each, map[bool]string{true: fmt.Sprintf(" and %d test samples", eachTest)}[parts.files]))
	writers := make([]writer, clients)
	digits := len(strconv.Itoa(clients - 1))
	for i := range writers {
		for j := range tests[i] {
			tests[i][j] += int32(train)
		}
		writers[i] = writer{id: fmt.Sprintf("%0*d", digits, i), train: chosen(src, trains[i]), test: chosen(src, tests[i])}
	}
	return writers, nil
}
