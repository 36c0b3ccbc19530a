package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go"

	"callhouse/internal/longtest"
	"callhouse/internal/publish/store"
)

// catalogServer is a REST catalog. It requires a token, a prefix and a different namespace separator,
// numbers the columns of new tables itself, loses answers and has rivals.
type catalogServer struct {
	t         *testing.T
	mu        sync.Mutex
	tables    map[string]*metadata
	namespace bool
	lost      int // answers to lose, of commits
	rivals    int // commits of another program, each before one of ours
	commits   int
	elsewhere string            // the server's own location for tables; empty: the requested one
	separator string            // of namespaces; empty: a dot, as configured
	settings  map[string]string // settings in its answers
}

func newCatalogServer(t *testing.T) *catalogServer {
	return &catalogServer{t: t, tables: map[string]*metadata{}}
}

// commitRequest is a request to change a table.
type commitRequest struct {
	Identifier   struct{ Name string }
	Requirements []struct {
		Type, UUID string
		Snapshot   *int64 `json:"snapshot-id"`
	}
	Updates []struct {
		Action     string
		Schema     *iceberg.Schema
		LastColumn int `json:"last-column-id"`
		Snapshot   *snapshot
		Ref        string            `json:"ref-name"`
		Type       string            `json:"type"`
		To         int64             `json:"snapshot-id"`
		Gone       []int64           `json:"snapshot-ids"`
		Properties map[string]string `json:"updates"`
	}
}

// refuses returns an error status and message for an invalid request, as strict servers do.
func (c *catalogServer) refuses(req *commitRequest) (status int, what string) {
	m := c.tables[req.Identifier.Name]
	if c.rivals > 0 {
		c.rivals--
		s := *m
		other := &snapshot{ID: 1, SequenceNumber: m.LastSequenceNumber + 1, ManifestList: "x"}
		s.Snapshots, s.CurrentSnapshot = append(slices.Clone(m.Snapshots), other), &other.ID
		c.tables[req.Identifier.Name], m = &s, &s
	}
	for _, q := range req.Requirements {
		switch {
		case q.Type == "assert-table-uuid" && q.UUID == m.UUID:
		case q.Type == "assert-ref-snapshot-id" && fmt.Sprint(m.CurrentSnapshot == nil) == fmt.Sprint(q.Snapshot == nil) &&
			(q.Snapshot == nil || *q.Snapshot == *m.CurrentSnapshot):
		default:
			return http.StatusConflict, "requirement"
		}
	}
	for _, u := range req.Updates {
		if u.Action == "add-schema" && u.LastColumn < max(m.LastColumn, u.Schema.HighestFieldID()) || len(u.Gone) > 1 || len(req.Requirements) != 2 {
			return http.StatusBadRequest, "as servers before Iceberg 1.9"
		}
	}
	return 0, ""
}

// change applies a valid request.
func (c *catalogServer) change(req *commitRequest) {
	m := *c.tables[req.Identifier.Name]
	m.Refs, m.Properties = maps.Collect(maps.All(m.Refs)), maps.Collect(maps.All(m.Properties))
	for _, u := range req.Updates {
		switch u.Action {
		case "add-schema":
			m.Schemas, m.LastColumn = append(slices.Clone(m.Schemas), u.Schema), u.LastColumn
		case "set-current-schema":
			m.CurrentSchema = m.Schemas[len(m.Schemas)-1].ID
		case "add-snapshot":
			m.Snapshots, m.LastSequenceNumber = append(slices.Clone(m.Snapshots), u.Snapshot), u.Snapshot.SequenceNumber
		case "set-snapshot-ref":
			m.Refs[u.Ref] = ref{u.To, u.Type}
			if u.Ref == mainBranch {
				m.CurrentSnapshot = &u.To
			}
		case "remove-snapshot-ref":
			delete(m.Refs, u.Ref)
		case "remove-snapshots":
			m.Snapshots = slices.DeleteFunc(slices.Clone(m.Snapshots), func(s *snapshot) bool { return s.ID == u.Gone[0] })
		case "set-properties":
			maps.Copy(m.Properties, u.Properties)
		default:
			c.t.Errorf("unknown update %s", u.Action)
		}
	}
	c.tables[req.Identifier.Name] = &m
}

// ServeHTTP implements http.Handler.
func (c *catalogServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reply := func(status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	fault := func(status int, what string) {
		reply(status, map[string]any{"error": map[string]any{"message": what, "code": status}})
	}
	if r.URL.Path == "/v1/oauth/tokens" {
		if r.FormValue("grant_type") != "client_credentials" || r.FormValue("client_id") != "me" || r.FormValue("client_secret") != "s:cret" {
			c.t.Errorf("it logs in with %v", r.Form)
		}
		reply(http.StatusOK, map[string]any{"access_token": "t0ken", "token_type": "bearer", "expires_in": 5})
		return
	}
	if got := r.Header.Get("Authorization"); got != "Bearer t0ken" {
		fault(http.StatusUnauthorized, "authorization "+got)
		return
	}
	path, name, _ := strings.Cut(r.URL.EscapedPath(), "/tables")
	name = strings.TrimPrefix(name, "/")
	commit := func(req *commitRequest) {
		if status, what := c.refuses(req); what != "" {
			fault(status, what)
			return
		}
		c.change(req)
		c.commits++
		if c.lost > 0 {
			c.lost--
			fault(http.StatusBadGateway, "a lost answer")
			return
		}
		reply(http.StatusOK, struct{}{})
	}
	switch {
	case path == "/v1/config":
		if got := r.URL.Query().Get("warehouse"); got != "w" {
			c.t.Errorf("it asks for the warehouse %q", got)
		}
		config := map[string]any{"defaults": map[string]string{"prefix": "wrong"}, "overrides": map[string]string{"prefix": "a/b", "namespace-separator": "%2E"}}
		if c.separator != "" {
			config["overrides"] = map[string]string{"prefix": "a/b"}
		}
		if c.settings != nil {
			config["defaults"] = c.settings
		}
		reply(http.StatusOK, config)
	case path == "/v1/a/b/namespaces" && r.Method == http.MethodPost:
		c.namespace = true
		reply(http.StatusOK, struct{}{})
	case path != "/v1/a/b/namespaces/one"+url.PathEscape(cmp.Or(c.separator, "."))+"two":
		c.t.Errorf("it asks for %s", path)
	case !c.namespace:
		fault(http.StatusNotFound, "no namespace")
	case r.Method == http.MethodPost && name == "":
		var req struct {
			Name, Location string
			Schema         *iceberg.Schema
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.Schema == nil {
			c.t.Error(err, req)
		}
		if c.elsewhere != "" {
			req.Location = c.elsewhere + "/" + req.Name + "-0a1b/"
		}
		fields := req.Schema.Fields()
		for i := range fields {
			fields[i].ID = i + 1
		}
		c.tables[req.Name] = newMetadata(req.Location, iceberg.NewSchema(0, fields...))
		reply(http.StatusOK, map[string]any{"metadata": c.raw(req.Name)})
	case name == "":
		reply(http.StatusOK, struct{}{})
	case c.tables[name] == nil:
		fault(http.StatusNotFound, "no table")
	case r.Method == http.MethodGet:
		reply(http.StatusOK, map[string]any{"metadata": c.raw(name)})
	default:
		var req commitRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			c.t.Error(err)
		}
		req.Identifier.Name = name
		commit(&req)
	}
}

func (c *catalogServer) raw(name string) json.RawMessage {
	raw, err := json.Marshal(c.tables[name])
	if err != nil {
		c.t.Error(err)
	}
	return raw
}

// through publishes through a catalog, and returns a lake that is read through it.
func (c *catalogServer) through(h *testWarehouse, to string, handler http.Handler) (l *lake, publish func() error) {
	server := httptest.NewServer(handler)
	c.t.Cleanup(server.Close)
	access := Access{Catalog: server.URL + "/", Namespace: "one.two", CatalogWarehouse: "w", Credential: "me:s:cret"}
	l = newLake(h, to)
	return l, func() error {
		_, err := h.publish(to, func(o *Options) { o.Access = access })
		if err == nil {
			l.catalog, err = openREST(context.Background(), &access)
		}
		return err
	}
}

// Publishing works through a catalog server whatever credentials it requires, wherever it locates
// tables, and even if its answers are lost.
func TestCatalogServer(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		h, dir := newTestWarehouse(t), t.TempDir()
		c := newCatalogServer(t)
		if elsewhere {
			c.elsewhere = "file://" + filepath.Join(dir, "own", "place")
		}
		l, publish := c.through(h, filepath.Join(dir, "lake"), c)
		for night := range map[bool]int{false: 3, true: 1}[elsewhere && !longtest.On()] {
			h.night(call{"a", "x", 0, night, 1}, call{"b", "y", night, 1, 1})
			if night == 2 {
				h.forget("a")
			}
			before := c.commits
			c.lost = 1
			h.must(publish())
			l.check()
			made := c.commits
			h.must(publish())
			if before == made || c.commits != made {
				t.Errorf("%d commits, and %d when published again", made-before, c.commits-made)
			}
		}
		// A rival's commit is one clear error, and the next publication restores the tables.
		h.night(call{"c", "z", 1, 1, 1})
		c.rivals = 1
		if _, locked := errors.AsType[*store.LockedError](publish()); !locked {
			t.Error("after another program's commit there is no error")
		}
		h.must(publish())
		l.check()
	}
}

// TestBusyCatalog publishes through a catalog that fails one of five requests with 429, 500, 502,
// 503, 504, or no answer, before or after performing it.
func TestBusyCatalog(t *testing.T) {
	longtest.Only(t)
	h := newTestWarehouse(t)
	c := newCatalogServer(t)
	var mu sync.Mutex
	seen, n := map[string]int{}, 0
	l, publish := c.through(h, filepath.Join(t.TempDir(), "lake"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		now := n
		mu.Unlock()
		if now%5 != 0 {
			c.ServeHTTP(w, r)
			return
		}
		status := []int{429, 500, 502, 503, 504, 0}[now/5%6]
		done := status != 429 && now/30%2 == 0
		mu.Lock()
		seen[fmt.Sprint(r.Method, " ", status, " ", done)]++
		mu.Unlock()
		if done {
			c.ServeHTTP(httptest.NewRecorder(), r)
		}
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(status)
		fmt.Fprint(w, "slow\r\n down")
	}))
	for night := range 3 {
		h.night(call{"a", "x", 0, night, 1}, call{"b", "y", night, 1, 1})
		h.must(publish())
		l.check()
	}
	if len(seen) < 12 {
		t.Errorf("only %v went wrong", seen)
	}
}

// TestCredentialsStay has a catalog send the client elsewhere: no credential reaches the other host.
func TestCredentialsStay(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host is asked for %s with %v", r.URL, r.Header)
	}))
	defer other.Close()
	redirect := http.RedirectHandler(other.URL+"/v1/x?token=1", http.StatusTemporaryRedirect)
	setting := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"overrides":{%q:%q}}`, name, other.URL)
		})
	}
	for want, handler := range map[string]http.Handler{
		"redirects to": redirect, "setting uri is on another host": setting("uri"),
	} {
		for _, o := range []Access{{Credential: "me:s:cret"}, {Token: "t0ken"}} {
			login := http.NewServeMux()
			login.Handle("/", handler)
			if want != "redirects to" {
				login.HandleFunc("/v1/oauth/tokens", func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, `{"access_token":"t0ken","token_type":"bearer"}`)
				})
			}
			server := httptest.NewServer(login)
			o.Catalog, o.Namespace = server.URL, "calls"
			_, err := openREST(t.Context(), &o)
			if err == nil || !strings.Contains(fmt.Sprint(err), want) || strings.Contains(fmt.Sprint(err), "token=1") {
				t.Errorf("with %+v: %v, want %q", o, err, want)
			}
			server.Close()
		}
	}
}

// TestNoCatalog connects to addresses without a working catalog: the message is one comprehensible line.
func TestNoCatalog(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		body, want string
		hint       string
		requests   int
	}{
		"a login page":      {200, "<!DOCTYPE html>\n<html><head><title>Sign in\n</title></head>", "the catalog answers 200 OK: not a catalog's answer, but <!DOCTYPE html> <html><head><title>Sign in", "--catalog", 1},
		"an endless answer": {200, strings.Repeat(" ", answerSize+1), "the catalog answers 200 OK: more than 64 MiB", "--catalog", 1},
		"another program":   {200, `["a"]`, "the catalog answers 200 OK: not what a catalog answers", "--catalog", 1},
		"a broken program":  {500, "Internal\nError\n", "the catalog answers 500 Internal Server Error: Internal Error", "publish again", attempts},
		"no access":         {403, `{"error":{"message":"not\nyou"}}`, "the catalog answers 403 Forbidden: not you", "CALLHOUSE_CATALOG_CREDENTIAL", 1},
		"too much":          {429, "", "the catalog answers 429 Too Many Requests", "publish again", attempts},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.body) > answerSize {
				longtest.Only(t) // it takes as long as all the others
			}
			t.Parallel()
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}))
			defer server.Close()
			_, err := openREST(t.Context(), &Access{Catalog: server.URL, Namespace: "calls"})
			var hinted interface{ Hint() string }
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.HasSuffix(strings.TrimSpace(err.Error()), ":") || !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), c.hint) {
				t.Errorf("%v", err)
			}
			if strings.ContainsAny(fmt.Sprint(err), "\n\r") {
				t.Errorf("%q has several lines", err)
			}
			if requests != c.requests {
				t.Errorf("%d requests, not %d", requests, c.requests)
			}
		})
	}
}
