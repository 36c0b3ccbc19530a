package resource_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/internal/resource"
	"callhouse/internal/resource/resourcetest"
	"callhouse/internal/schema"
	"callhouse/internal/wire/secret"
)

// A secret withheld from an object as sent is also withheld from its columns and its change: verify
// finds no secret stored by this version. The shapes are put into every resource, both as unknown
// members and into each JSON column.
func TestScrubbedIsWithheld(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "wire", "secret", "testdata", "shapes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	shapes := strings.Split(strings.NewReplacer("«", "", "»", "").Replace(string(text)), "\n")
	for _, of := range resource.All {
		if of.Slim {
			continue
		}
		for i, shape := range shapes {
			if !strings.HasPrefix(shape, "{") {
				continue
			}
			var object map[string]any
			d := json.NewDecoder(bytes.NewReader(resourcetest.Record(of, 1, i)))
			d.UseNumber()
			if err := d.Decode(&object); err != nil {
				t.Fatal(err)
			}
			object["unknown"] = json.RawMessage(shape)
			for c := range of.Table.Columns {
				if c := &of.Table.Columns[c]; c.Type == schema.JSON && object[strings.TrimSuffix(c.V3, "?")] != nil {
					object[strings.TrimSuffix(c.V3, "?")] = json.RawMessage(shape)
				}
			}
			body, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			clean, err := of.Scrub(body)
			if err != nil {
				t.Fatal(err)
			}
			o := decode(t, of, clean)
			if again, places := of.Withhold(o); again != o || resource.AnyClear(places) {
				t.Errorf("%s: %s: %+v", of.Name, shape, places)
			}
			row := of.Change(nil, o, resource.Fetched{At: 1, Run: "r"}, 0)
			if again, places := resource.WithholdChange(row); &again[0] != &row[0] || resource.AnyClear(places) {
				t.Errorf("a change of %s: %s: %+v", of.Name, shape, places)
			}
		}
	}
}

// Keys are never withheld, as distinct objects would become one.
func TestKeysAreNotWithheld(t *testing.T) {
	t.Parallel()
	const key = "sk-aB3dE5fG7hI9jK1lM3nO5aB3dE5fG7hI9"
	clean, err := resource.Tools.Scrub([]byte(`{"id":"` + key + `","name":"` + key + `"}`))
	if err != nil || string(clean) != `{"id":"`+key+`","name":"`+secret.Mark+`"}` {
		t.Errorf("%s, %v", clean, err)
	}
}
