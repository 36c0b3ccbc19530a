package crawler

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire/wiretest"
)

// objectStore stores resources in memory.
type objectStore struct {
	*memStore
	mu     sync.Mutex
	put    []string // "kind key" of records
	bodies map[string]string
	listed schema.Listed
	due    []string
	// listedDue makes the records and lists of all listed objects due.
	listedDue bool
}

func (s *objectStore) Put(ctx context.Context, recs ...schema.Record) error {
	var rest []schema.Record
	s.mu.Lock()
	for _, r := range recs {
		if r.Resource == "" {
			rest = append(rest, r)
			continue
		}
		kind := map[schema.Kind]string{schema.KindItem: "item", schema.KindDetail: "record", schema.KindMissing: "missing", schema.KindListed: "listed"}[r.Kind]
		s.put = append(s.put, strings.TrimSpace(r.Resource+" "+kind+" "+r.CallID))
		s.bodies[r.CallID] = string(r.Body)
		if r.Kind == schema.KindListed {
			if err := json.Unmarshal(r.Body, &s.listed); err != nil {
				return err
			}
		}
	}
	s.mu.Unlock()
	return s.memStore.Put(ctx, rest...)
}

func (s *objectStore) Incomplete(_ context.Context, of *resource.Resource, _ func(*resource.Resource, int64) bool) iter.Seq2[string, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := slices.Clone(s.due)
	if s.listedDue {
		for _, p := range s.put {
			if key, ok := strings.CutPrefix(p, of.Name+" item "); ok {
				due = append(due, key)
			}
		}
	}
	return seqOf(due)
}

// aService serves one resource, whose list has five objects, two per page.
type aService struct {
	of       *resource.Resource
	parent   string
	fault    string
	mu       sync.Mutex
	requests []string
}

func (s *aService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.URL.Path+"?"+r.URL.Query().Get("cursor"))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"code":%q,"message":"no"}}`, code)
	}
	top := s.of
	if top.Parent != nil {
		top = top.Parent
	}
	switch p := r.URL.Path; {
	case p == "/v3/calls" && !r.URL.Query().Has("campaign_id"):
		fmt.Fprint(w, `{"items":[],"total_count":0,"next_cursor":null}`)
		return
	case strings.HasPrefix(p, "/v2/"):
		refuse(404, "NOT_FOUND")
		return
	case p == "/v3/organizations/"+wiretest.Key(s.of, s.parent, 0) && s.of.Single:
	case p == pathOf(s.of.Path, s.parent):
	case p == pathOf(top.Record, wiretest.Key(top, "", wiretest.ParentNumber)):
		if s.fault == "no record" {
			refuse(404, "NOT_FOUND")
			return
		}
		_, _ = w.Write(wiretest.Record(top, wiretest.ParentNumber, 0))
		return
	default: // other resources are empty
		_, _ = w.Write(listOf(top, nil, ""))
		return
	}
	switch s.fault {
	case "404":
		refuse(404, "NOT_FOUND")
		return
	case "403":
		refuse(403, "FORBIDDEN")
		return
	case "500":
		refuse(500, "INTERNAL")
		return
	case "empty":
		_, _ = w.Write(listOf(s.of, nil, ""))
		return
	}
	if s.of.Single {
		_, _ = w.Write(s.item(0))
		return
	}
	at, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	size := 2
	if s.of.Unpaged {
		size = 5
	}
	var items [][]byte
	for n := at; n < min(at+size, 5); n++ {
		items = append(items, s.item(n))
	}
	next := ""
	if at+size < 5 {
		next = strconv.Itoa(at + size)
	}
	if s.fault == "circle" && next == "4" {
		next = "2"
	}
	if s.fault == "cut" && at == 2 {
		refuse(404, "NOT_FOUND")
		return
	}
	_, _ = w.Write(listOf(s.of, items, next))
}

// listOf returns a page of a list, with the cursor of the next one.
func listOf(of *resource.Resource, items [][]byte, next string) []byte {
	cursor := "null"
	if next != "" {
		cursor = strconv.Quote(next)
	}
	return fmt.Appendf(nil, `{%q:[%s],"total_count":%d,"next_cursor":%s}`, cmp.Or(of.Items, "items"), bytes.Join(items, []byte(",")), len(items), cursor)
}

// item returns the n-th object.
func (s *aService) item(n int) []byte {
	item := wiretest.Item(s.of, n, 0)
	switch {
	case s.fault == "bad item" && (n == 3 || s.of.Single):
		item = []byte(`{"no":"key"}`)
	case s.fault == "another" && s.of.Single:
		item = wiretest.Item(s.of, 1, 0)
	case s.fault == "secret":
		with := `{"api_configuration":{"headers":{"X-Key":"geheim"},"url":"https://x.example/a?key=geheim"},"webhook_url":"https://geheim.example","other":{"client_secret":"geheim","tokens":3},`
		for _, name := range s.of.Secrets {
			with += fmt.Sprintf(`"more":{%q:["geheim",{"to":"geheim"}]},`, name)
		}
		item = []byte(strings.Replace(string(item), "{", with, 1))
	}
	return item
}

// Every resource is crawled by its declaration alone. A failure is reported once, ends neither the
// run nor the crawl of calls, and makes no list complete.
func TestEveryResourceIsCrawled(t *testing.T) {
	t.Parallel()
	for _, of := range resource.All {
		if len(of.Queries) > 0 && of.Parent == nil {
			of = new(*of)
			of.Queries = nil // the test's service has no parameters
		}
		for _, c := range []struct {
			fault    string
			items    int // stored
			complete bool
			problem  string
		}{
			{"", 5, true, ""},
			{"secret", 5, true, ""},
			{"empty", 0, true, ""},
			{"404", 0, false, "404"},
			{"403", 0, false, "403"},
			{"500", 0, false, "500"},
			{"bad item", 4, false, "no id"},
			{"circle", 4, false, "its pages repeat"},
			{"cut", 2, false, "404"},
			{"no record", 5, true, ""},
			{"another", 0, false, "of another object"},
		} {
			if of.Single {
				c.items = min(c.items, 1)
				if c.fault == "bad item" {
					c.items = 0
				}
				if c.fault == "empty" || c.fault == "circle" || c.fault == "cut" { // it has no list
					continue
				}
			} else if c.fault == "another" {
				continue
			}
			if of.Unpaged && (c.fault == "circle" || c.fault == "cut") || c.fault == "no record" && of.Record == "" {
				continue
			}
			t.Run(of.Name+" "+c.fault, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &aService{of: of, fault: c.fault}
					store := &objectStore{memStore: newMemStore(), bodies: map[string]string{}}
					all := []*resource.Resource{of}
					if of.Parent != nil {
						s.parent = wiretest.Key(of.Parent, "", wiretest.ParentNumber)
						all = []*resource.Resource{of.Parent, of}
					}
					if of.Parent != nil || of.Record != "" {
						store.due = []string{wiretest.Key(all[0], "", wiretest.ParentNumber)}
					}
					rep := crawlObjects(t, s, store, all)
					i := slices.IndexFunc(rep.Resources, func(r ResourceReport) bool { return r.Name == of.Name })
					if i < 0 {
						t.Fatalf("it was not asked for: %v", s.requests)
					}
					r := rep.Resources[i]
					if (c.problem == "") != (r.Problem == "") || !strings.Contains(r.Problem, c.problem) {
						t.Errorf("the problem is %q, want %q", r.Problem, c.problem)
					}
					items := 0
					for _, p := range store.put {
						if strings.HasPrefix(p, of.Name+" item ") {
							items++
						}
					}
					complete := slices.Contains(store.put, strings.TrimSpace(of.Name+" listed "+s.parent))
					if items != c.items || complete != c.complete || (r.Lists == 1) != c.complete {
						t.Errorf("%d items were put, want %d; complete %v, want %v: %q", items, c.items, complete, c.complete, store.put)
					}
					if complete && store.listed.Items != int64(c.items) && of.Parent == nil {
						t.Errorf("the list is said to have %d items", store.listed.Items)
					}
					for key, body := range store.bodies {
						if strings.Contains(body, "geheim") {
							t.Errorf("the record of %s has a secret: %s", key, body)
						}
					}
					if of.Parent == nil && of.Record != "" {
						kind := map[bool]string{true: " missing ", false: " record "}[c.fault == "no record"]
						if !slices.Contains(store.put, of.Name+kind+store.due[0]) {
							t.Errorf("its own record was not put: %q", store.put)
						}
					}
					if !rep.Complete() {
						t.Errorf("the run is not complete: %v", rep.Problems)
					}
				})
			})
		}
	}
}

// crawlObjects runs a crawl of an organisation without calls.
func crawlObjects(t *testing.T, h http.Handler, store Store, all []*resource.Resource) Report {
	t.Helper()
	tr, stop := serve(t, h)
	defer stop()
	c := tester(t, tr, store, func(cfg *Config) {
		cfg.Resources = all
		cfg.Organization = wiretest.Key(resource.Organizations, "", 0)
	})
	rep, err := c.Run(context.Background())
	test.OK(t, err)
	return rep
}
