package resource_test

import (
	"testing"

	"callhouse/internal/resource"
)

// Keys are never withheld, as distinct objects would become one.
func TestKeysAreNotWithheld(t *testing.T) {
	t.Parallel()
	const key = "sk-aB3dE5fG7hI9jK1lM3nO5aB3dE5fG7hI9"
	clean, err := resource.Tools.Scrub([]byte(`{"id":"` + key + `","name":"` + key + `"}`))
	if err != nil || string(clean) != `{"id":"`+key+`","name":"[withheld]"}` {
		t.Errorf("%s, %v", clean, err)
	}
}
