package sqlfiles

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callhouse/internal/golden"
	"callhouse/internal/resource"
)

// docs/reference/data-dictionary.md says what the headers of the views say; with -update
// it is written anew.
func TestDictionary(t *testing.T) {
	golden.Check(t, "../docs/reference/data-dictionary.md", Dictionary())
}

// The requests for resources in docs/reference/organisation.md are the declared ones.
func TestRequestsOfResources(t *testing.T) {
	var b strings.Builder
	b.WriteString("| table | request | when |\n| --- | --- | --- |\n")
	for _, r := range resource.All {
		list, when := r.Path, "every night"
		if days := r.Every / (24 * time.Hour); r.Parent != nil {
			when = "when the row in `" + r.Parent.Name + "` changed"
			if days > 0 {
				when += fmt.Sprintf(", and every %d days", days)
			}
		} else if days > 0 {
			when = fmt.Sprintf("every %d days", days)
		}
		each := ""
		for _, q := range r.Queries {
			if len(r.Queries) == 1 {
				list += "?" + q.Encode()
			}
			for name := range q {
				each = ", once for each `" + name + "`"
			}
		}
		if len(r.Queries) < 2 {
			each = ""
		}
		request := "`GET " + list + "`" + each
		if r.Record != "" {
			record := r.Record
			if r.By != "" {
				record += "?" + r.By + "={" + r.By + "}"
			}
			request += "; `GET " + record + "` for `" + strings.Join(r.Own, "`, `") + "`"
			if r.Lasting {
				when += "; the second one once, if the settings ask for it"
			} else {
				when += "; the second one when the item in the list changed"
			}
		}
		request = strings.NewReplacer("{}", "{id}", "%7B%7D", "{id}").Replace(request)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, request, when)
	}
	golden.Part(t, "../docs/reference/organisation.md", "go test ./sql -update -->\n", "<!-- end -->", b.String())
}
