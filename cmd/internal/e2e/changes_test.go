package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// chronicle is a company whose service records when each list was requested.
type chronicle struct {
	*company
	mu     sync.Mutex
	nights []time.Time
	listed map[string][]time.Time // by list: the time of its request in each night
}

func newChronicle(t *testing.T, opts sandbox.Options) *chronicle {
	t.Helper()
	h := &chronicle{listed: map[string][]time.Time{}}
	opts.Inject = func(_ int64, r sandbox.Request) sandbox.FaultKind {
		single := r.Resource == resource.Organizations.Name
		if r.Kind == "list" || single {
			h.mu.Lock()
			defer h.mu.Unlock()
			if single {
				r.ID = ""
			}
			name, now := r.Resource+" "+r.ID, h.clock.Now()
			if at := h.listed[name]; len(at) == 0 || !at[len(at)-1].Equal(now) {
				h.listed[name] = append(at, now)
			}
		}
		return ""
	}
	h.company = found(t, opts)
	return h
}

func (h *chronicle) night() {
	h.t.Helper()
	h.mustExtract("--resources", "all")
	h.nights = append(h.nights, h.clock.Now())
}

// last returns the last request for a list before or at a time; zero: none.
func (h *chronicle) last(of *resource.Resource, parent string, until time.Time) (at time.Time) {
	for _, is := range h.listed[of.Name+" "+parent] {
		if !is.After(until) {
			at = is
		}
	}
	return at
}

// seen is a change as seen by an observer of each night.
type seen struct {
	Kind          string
	Since, At     int64 // ms UTC; 0: never
	Before, After map[string]any
}

// expected returns the changes seen by a night, from the sandbox's edits since each list was last
// requested.
func (h *chronicle) expected(of *resource.Resource, night time.Time) map[string]seen {
	h.t.Helper()
	out := map[string]seen{}
	world, before := h.service.Server.Organisation(), night.Add(-time.Millisecond)
	parents := map[string]bool{"": true}
	if of.Parent != nil {
		parents = map[string]bool{}
		for _, at := range []time.Time{h.last(of.Parent, "", before), night} {
			for key := range h.truth(of.Parent, at) {
				parents[key] = true
			}
		}
	}
	for parent := range parents {
		was := h.last(of, parent, before)
		_, there := h.truth(cmp.Or(of.Parent, of), night)[parent]
		gone := of.Parent != nil && !there
		switch {
		case !gone && !h.last(of, parent, night).Equal(night): // not requested
		case was.IsZero():
			for _, r := range world.Truth(of.Name, night) {
				if r.Parent == parent {
					out[keyAt(of, parent, r.ID)] = seen{Kind: "created", At: night.UnixMilli(), After: h.columns(of, nil, r.Object, r.Parent)}
				}
			}
		default:
			for _, e := range world.Seen(of.Name, was, night) {
				if e.Parent != parent {
					continue
				}
				if e.At <= was.UnixMilli() || e.At > night.UnixMilli() {
					h.t.Errorf("%s %s was edited at %d, not between %v and %v", of.Name, e.ID, e.At, was, night)
				}
				s := seen{Kind: "changed", Since: was.UnixMilli(), At: night.UnixMilli()}
				switch {
				case e.Before == nil:
					s.Kind, s.After = "created", h.columns(of, nil, e.After, e.Parent)
				case e.After == nil:
					s.Kind = "deleted"
				default:
					if s.After = h.columns(of, e.Before, e.After, ""); len(s.After) == 0 {
						continue // an unstored field
					}
					s.Before = h.columns(of, e.After, e.Before, "")
				}
				out[keyAt(of, parent, e.ID)] = s
			}
		}
	}
	return out
}

// columns returns the values of the columns of a sandbox object that differ from another version of
// it; nil has none.
func (h *chronicle) columns(of *resource.Resource, not, o organisation.Object, parent string) map[string]any {
	h.t.Helper()
	out := map[string]any{}
	was, is := shown(h.t, of, not), shown(h.t, of, o)
	for i := range of.Table.Fields {
		c := &of.Table.Fields[i]
		path := strings.Split(strings.TrimSuffix(c.V3, "?"), ".")
		before, after := plainValue(c, was, path), plainValue(c, is, path)
		if parent != "" && c.Name == of.Key[0] {
			after = parent
		}
		if c.V3 == "" && parent == "" || gocmp.Equal(before, after) || not != nil && !has(is, path[0]) {
			continue
		}
		out[c.Name] = after
	}
	if not == nil {
		out["source"] = "v3"
	}
	return out
}

func has(o objectJSON, name string) bool { _, ok := o[name]; return ok }

// plainValue returns the value at a path in the form of the table changes.
func plainValue(c *schema.Column, o objectJSON, path []string) any {
	var v any = o
	for _, name := range path {
		inner, _ := v.(objectJSON)
		v = inner[name]
	}
	text := fmt.Sprint(v)
	switch {
	case v == nil:
		return nil
	case c.Type == schema.Timestamp:
		var ms int64
		_, _ = fmt.Sscan(text, &ms) // the sandbox's own
		return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
	case c.Type == schema.Exact:
		r, _ := new(big.Rat).SetString(text)
		return r.RatString()
	case c.Type == schema.Text, c.Type == schema.Word:
		return text
	}
	return v
}

// changes returns the changes in the warehouse, by resource, night and key. The changes to one object
// that a run finds, in the list and in its record, are one row.
func (h *chronicle) changes() map[string]map[string]seen {
	h.t.Helper()
	out := map[string]map[string]seen{}
	for _, row := range h.sql(`SELECT resource, key, kind, coalesce(epoch_ms(since_at), 0) AS since, epoch_ms(seen_at) AS seen,
		fields::VARCHAR AS fields, before::VARCHAR AS before, after::VARCHAR AS after FROM changes`) {
		of, night := resource.ByName(row["resource"].(string)), number(h.t, row["seen"])
		if out[of.Name] == nil {
			out[of.Name] = map[string]seen{}
		}
		key := fmt.Sprint(night, " ", row["key"])
		if _, again := out[of.Name][key]; again {
			h.t.Errorf("%s %s: two changes in one night", of.Name, key)
		}
		s := seen{Kind: row["kind"].(string), Since: number(h.t, row["since"]), At: night}
		for name, into := range map[string]*map[string]any{"before": &s.Before, "after": &s.After} {
			text, ok := row[name].(string)
			if !ok || s.Kind == "created" && name == "before" {
				continue
			}
			*into = map[string]any{}
			values := parse(h.t, []byte(text)).(objectJSON)
			for _, field := range parse(h.t, []byte(row["fields"].(string))).([]any) {
				v, there := values[field.(string)]
				if strings.HasSuffix(field.(string), "extra") { // only the spelling of a value
					continue
				}
				if !there {
					h.t.Errorf("%s %s: %s has no %s", of.Name, key, name, field)
				}
				if n, ok := v.(json.Number); ok && of.Table.Columns[of.Table.Column(field.(string))].Type == schema.Exact {
					r, _ := new(big.Rat).SetString(n.String())
					v = r.RatString()
				}
				if v != nil || s.Kind != "created" {
					(*into)[field.(string)] = v
				}
			}
		}
		if s.Kind == "deleted" {
			s.Before, s.After = nil, nil
		}
		out[of.Name][key] = s
	}
	return out
}

// Changes equal the sandbox's log of edits, as seen once a night: also after missed nights, when
// several edits are one change, and for objects that appeared, disappeared, or are listed less
// often. The resources as of each night equal the service's state then.
func TestChangesEqualTheEdits(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	longtest.Only(t) // TestEveryResource in the sink and TestReportsOnTheOrganisation in analytics test that changes are stored and reported
	h := newChronicle(t, sandbox.Options{
		World:        sandbox.Config{Seed: 22, Calls: 20, Days: 4, Agents: 3},
		Organisation: organisation.Config{Pace: 6},
	})
	world := h.service.Server.Organisation()
	h.night()
	ids := func(of *resource.Resource) []string {
		return slices.Sorted(func(yield func(string) bool) {
			for key := range h.truth(of, h.clock.Now()) {
				if !yield(key) {
					return
				}
			}
		})
	}
	do := func(err error) {
		t.Helper()
		test.OK(t, err)
	}
	agents, bases := ids(resource.Agents), ids(resource.Knowledges)
	for night, off := range []time.Duration{24 * time.Hour, 72 * time.Hour, 24 * time.Hour, 10 * 24 * time.Hour, 12 * time.Hour} {
		h.clock.Advance(off / 3)
		switch night {
		case 0: // two edits, only one of which is seen
			do(world.Edit(h.clock.Now(), "agents", "", agents[0], organisation.Object{"name": "for an hour"}))
		case 1: // only one of two lists of documents is requested before this, and after it
			do(world.Edit(h.clock.Now(), "knowledges", "", bases[0], organisation.Object{"name": "Renamed"}))
		case 2: // children vanish with their parent
			do(world.Delete(h.clock.Now(), "agents", "", agents[1]))
			do(world.Delete(h.clock.Now(), "knowledges", "", bases[1]))
		}
		h.clock.Advance(off / 3)
		switch night {
		case 0:
			do(world.Edit(h.clock.Now(), "agents", "", agents[0], organisation.Object{"name": "Bookings"}))
		case 1:
			_, err := world.Publish(h.clock.Now(), agents[0], "while nobody looked")
			do(err)
		}
		h.clock.Advance(off - 2*(off/3))
		h.night()
	}
	sum := map[string]int{}
	tried := longtest.Each(3)
	changes, past := h.changes(), h.past(tried)
	for _, of := range organised {
		want := map[string]seen{}
		for _, night := range h.nights {
			for key, s := range h.expected(of, night) {
				want[fmt.Sprint(night.UnixMilli(), " ", key)] = s
				sum[s.Kind]++
			}
		}
		test.Same(t, want, changes[of.Name], "changes of %s (-sandbox +warehouse)", of.Name)
		test.Same(t, h.was(of, tried), past[of.Name], "%s_at (-sandbox +warehouse)", of.Name)
	}
	t.Logf("%v", sum)
	for _, kind := range []string{"created", "changed", "deleted"} {
		if sum[kind] < 5 {
			t.Errorf("only %d were %s", sum[kind], kind)
		}
	}
}

// was returns the objects of a resource as each night saw them, by night and key.
func (h *chronicle) was(of *resource.Resource, tried func(night int) bool) map[string]map[string]any {
	h.t.Helper()
	out := map[string]map[string]any{}
	for n, night := range h.nights {
		if !tried(n) {
			continue
		}
		for parent := range h.truth(cmp.Or(of.Parent, of), night) {
			if of.Parent == nil {
				parent = ""
			}
			for _, r := range h.service.Server.Organisation().Truth(of.Name, h.last(of, parent, night)) {
				if r.Parent == parent {
					out[fmt.Sprint(n, " ", keyAt(of, parent, r.ID))] = h.columns(of, nil, r.Object, r.Parent)
				}
			}
		}
	}
	return out
}

// past returns the same from the warehouse, for all resources. Between two nights, the state is
// that of the earlier one.
func (h *chronicle) past(tried func(night int) bool) map[string]map[string]map[string]any {
	h.t.Helper()
	var parts []string
	for _, of := range organised {
		var columns []string
		for i := range of.Table.Fields {
			c := &of.Table.Fields[i]
			switch value := c.Name; {
			case c.V3 == "" && !slices.Contains(of.Key, c.Name): // not a field of the service
			case !of.Compared(of.Table.Column(c.Name)) && !slices.Contains(of.Key, c.Name): // it never changes
			case c.Type == schema.Timestamp:
				value = fmt.Sprintf("epoch_ms(%s)", c.Name)
				fallthrough
			default:
				columns = append(columns, fmt.Sprintf("%s := %s", c.Name, value))
			}
		}
		for n, night := range h.nights {
			if !tried(n) {
				continue
			}
			parts = append(parts, fmt.Sprintf("SELECT '%s' AS resource, %d AS night, to_json(struct_pack(%s))::VARCHAR AS row FROM %s_at(make_timestamptz(%d))",
				of.Name, n, strings.Join(columns, ", "), of.Name, night.Add(time.Hour).UnixMicro()))
		}
	}
	out := map[string]map[string]map[string]any{}
	for _, row := range h.sql(strings.Join(parts, " UNION ALL ")) {
		of := resource.ByName(row["resource"].(string))
		object := map[string]any{"source": "v3"}
		values := parse(h.t, []byte(row["row"].(string))).(objectJSON)
		for i := range of.Table.Fields {
			c := &of.Table.Fields[i]
			if v := plainValue(c, values, []string{c.Name}); v != nil {
				object[c.Name] = v
			}
		}
		var key []string
		for _, name := range of.Key {
			key = append(key, strings.ReplaceAll(object[name].(string), "/", "%2F"))
		}
		if out[of.Name] == nil {
			out[of.Name] = map[string]map[string]any{}
		}
		out[of.Name][fmt.Sprint(row["night"], " ", strings.Join(key, "/"))] = object
	}
	return out
}
