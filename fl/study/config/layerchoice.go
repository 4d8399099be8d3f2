package config

import (
	"fmt"
	"strconv"

	"github.com/fedfast/fedfast/nn/models"
)

// setChoice reads { choices = [16, 32] } or { as = "NAME" } instead of an integer of a
// layer.
func setChoice(l *models.LayerSpec, key string, s setting) error {
	table := s.value.(map[string]any)
	var c models.LayerChoice
	list, isList := table["choices"].([]any)
	as, isName := table["as"].(string)
	ok := len(table) == 1 && (isList && len(list) > 0 || isName && as != "")
	for _, x := range list {
		n, whole := x.(int64)
		ok = ok && whole && int64(int(n)) == n
		c.Choices = append(c.Choices, int(n))
	}
	if c.As = as; !ok {
		return fmt.Errorf("%s: must be an integer, { choices = [...] }, or { as = \"NAME\" } with the name of an earlier choice", s.key)
	}
	if l.Choices == nil {
		l.Choices = map[string]models.LayerChoice{}
	}
	l.Choices[key] = c
	return nil
}

// choice writes what setChoice reads.
func (w *writer) choice(c models.LayerChoice) string {
	if c.As != "" {
		return fmt.Sprintf("{ as = %s }", w.value(c.As))
	}
	return fmt.Sprintf("{ choices = %s }", array(c.Choices, func(n any) string { return strconv.Itoa(n.(int)) }))
}
