package stackexchange

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/data/sys/memory"
)

// maxBytes bounds the users' texts in memory.
const maxBytes = 1 << 30

// siteUser is one user of one site.
type siteUser struct {
	site string
	id   int64
}

// userTexts are the examples of users, as numbers.
type userTexts struct {
	of    map[siteUser]*texts
	total int // numbers
}

// texts are the examples of one user, one after the other.
type texts struct {
	numbers  []uint16
	examples int
}

// add adds an example of a user by appending its numbers.
func (u *userTexts) add(user siteUser, appendTo func([]uint16) []uint16) error {
	if u.of == nil {
		u.of = map[siteUser]*texts{}
	}
	t := u.of[user]
	if t == nil {
		t = &texts{}
		u.of[user] = t
	}
	before := len(t.numbers)
	t.numbers = appendTo(t.numbers)
	t.examples++
	more := len(t.numbers) - before
	if u.total += more; 2*u.total > maxBytes {
		return fmt.Errorf("the texts take more than %d bytes, which is more than fits in memory; take smaller sites, or a file of posts or comments alone", maxBytes)
	}
	if err := memory.Check(int64(2 * more)); err != nil {
		return fmt.Errorf("all sentences: %w", err)
	}
	return nil
}

// examples puts the users' texts, which it empties, into one view, by site and
// number.
func (u *userTexts) examples(view func(all []uint16) data.View) []data.Examples {
	order := make([]siteUser, 0, len(u.of))
	for user := range u.of {
		order = append(order, user)
	}
	slices.SortFunc(order, func(a, b siteUser) int {
		return cmp.Or(strings.Compare(a.site, b.site), cmp.Compare(a.id, b.id))
	})
	all := make([]uint16, 0, u.total)
	var writers []data.Examples
	var counts []int
	for _, user := range order {
		t := u.of[user]
		all = append(all, t.numbers...)
		delete(u.of, user)
		writers = append(writers, data.Examples{Client: user.site + "/" + strconv.FormatInt(user.id, 10)})
		counts = append(counts, t.examples)
	}
	v, first := view(all), 0
	for i, n := range counts {
		writers[i].Train = v.Part(first, first+n)
		first += n
	}
	return writers
}
