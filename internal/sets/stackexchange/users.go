package stackexchange

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/sys/memory"
)

// userSize is about what a user takes in addition to its examples.
const userSize = 200

// siteUser is one user of one site.
type siteUser struct {
	site string
	id   int64
}

// userTexts are the examples of users, as numbers.
type userTexts struct {
	of     map[siteUser]*texts
	total  int            // numbers
	budget *memory.Budget // of all files
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
	u.total += len(t.numbers) - before
	more := 2 * int64(len(t.numbers)-before)
	if t.examples == 1 {
		more += userSize
	}
	if err := u.budget.Take(more); err != nil {
		return fmt.Errorf("the sentences: %w; take smaller sites, or a file of posts or comments alone", err)
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
