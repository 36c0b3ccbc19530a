package resource

import (
	"fmt"

	"callhouse/internal/wire/secret"
)

// Scrub returns the JSON of an object, as the service sent it, without its secrets.
func (r *Resource) Scrub(body []byte) ([]byte, error) {
	rules := secret.Rules{Hide: r.Secrets}
	for _, col := range r.keys {
		c := &r.Table.Columns[col]
		rules.Keep = append(rules.Keep, c.Name, c.V3, c.V2)
	}
	clean, err := rules.Withhold(body)
	if err != nil {
		return nil, fmt.Errorf("cannot be decoded: %w", err)
	}
	return clean, nil
}
