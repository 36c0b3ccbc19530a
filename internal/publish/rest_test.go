package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"callhouse/internal/longtest"
	"callhouse/internal/publish/catalog"
	"callhouse/internal/publish/store"
)

// catalogServer is a REST catalog that keeps its tables in files. It requires a token, a prefix and
// a different namespace separator, loses answers and has rivals.
type catalogServer struct {
	*catalog.Files
	t         *testing.T
	mu        sync.Mutex
	namespace bool
	commits   int
	seen      map[string]int
	// elsewhere is the server's own location for tables; empty: the requested one.
	elsewhere string
	staged    map[string]catalog.Leftover
	atomic    bool              // it can commit several tables at once
	nessie    bool              // it refuses tags and the removal of snapshots
	separator string            // of namespaces; empty: a dot, as configured
	settings  map[string]string // settings in its answers
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
		c.seen[what]++
		reply(status, map[string]any{"error": map[string]any{"message": what, "code": status}})
	}
	if r.URL.Path == "/v1/oauth/tokens" {
		if r.FormValue("grant_type") != "client_credentials" || r.FormValue("client_id") != "me" || r.FormValue("client_secret") != "s:cret" {
			c.t.Errorf("it logs in with %v", r.Form)
		}
		reply(http.StatusOK, map[string]any{"access_token": "t0ken", "token_type": "bearer", "expires_in": 3600})
		return
	}
	if got := r.Header.Get("Authorization"); got != "Bearer t0ken" {
		fault(http.StatusUnauthorized, "authorization "+got)
		return
	}
	path, table, _ := strings.Cut(r.URL.EscapedPath(), "/tables")
	table = strings.TrimPrefix(table, "/")
	switch {
	case path == "/v1/config":
		if got := r.URL.Query().Get("warehouse"); got != "w" {
			c.t.Errorf("it asks for the warehouse %q", got)
		}
		config := map[string]any{"defaults": map[string]string{"prefix": "wrong"}, "overrides": map[string]string{
			"prefix": "a/b", "namespace-separator": "%2E", "nessie.is-nessie-catalog": fmt.Sprint(c.nessie)}}
		if c.separator != "" {
			config["overrides"] = map[string]string{"prefix": "a/b"}
		}
		if c.settings != nil {
			config["defaults"] = c.settings
		}
		if c.atomic {
			config["endpoints"] = []string{"GET /v1/{prefix}/namespaces", catalog.Transactions}
		}
		reply(http.StatusOK, config)
	case path == "/v1/a/b/transactions/commit" && c.atomic:
		var all struct {
			Changes []struct {
				Identifier struct{ Name string }
				commitRequest
			} `json:"table-changes"`
		}
		if err := json.NewDecoder(r.Body).Decode(&all); err != nil || len(all.Changes) < 2 {
			c.t.Error(err, all)
		}
		bases := make([]catalog.Current, len(all.Changes))
		for i, req := range all.Changes {
			bases[i], _ = c.Load(r.Context(), req.Identifier.Name)
			if status, what := c.refuses(&req.commitRequest, bases[i]); what != "" {
				fault(status, what)
				return
			}
		}
		if c.seen["several at once"]++; c.seen["several at once"] == 1 {
			fault(http.StatusConflict, "a rival of several")
			return
		}
		for i, req := range all.Changes {
			if err := c.Commit(r.Context(), catalog.Change{Name: req.Identifier.Name, Base: bases[i], Updates: req.Updates}); err != nil {
				c.t.Error(err)
			}
		}
		if c.seen["several at once"] == 2 {
			fault(http.StatusBadGateway, "a lost answer of several")
			return
		}
		w.WriteHeader(http.StatusNoContent)
	case path == "/v1/a/b/namespaces" && r.Method == http.MethodPost:
		c.namespace = true
		reply(http.StatusOK, struct{}{})
	case path != "/v1/a/b/namespaces/one"+url.PathEscape(cmp.Or(c.separator, "."))+"two":
		c.t.Errorf("it asks for %s", path)
	case !c.namespace:
		fault(http.StatusNotFound, "no namespace")
	case r.Method == http.MethodPost && table == "":
		var req struct {
			Name, Location string
			Stage          bool `json:"stage-create"`
			Schema         *iceberg.Schema
			Spec           json.RawMessage `json:"partition-spec"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || !req.Stage || req.Schema == nil || req.Spec == nil {
			c.t.Error(err, req)
		}
		if c.elsewhere != "" {
			req.Location = c.elsewhere + "/" + req.Name + "-0a1b"
		}
		c.staged[req.Name] = catalog.Leftover{UUID: uuid.NewString(), Location: req.Location + "/", Schemas: []*iceberg.Schema{renumbered(req.Schema)}}
		reply(http.StatusOK, map[string]any{"metadata": c.staged[req.Name]})
	case table == "":
		reply(http.StatusOK, struct{}{})
	default:
		now, err := c.Load(r.Context(), table)
		if err != nil {
			c.t.Error(err)
		}
		if r.Method == http.MethodGet && now.Metadata == nil {
			fault(http.StatusNotFound, "no table")
		} else if r.Method == http.MethodGet {
			reply(http.StatusOK, map[string]any{"metadata-location": now.File, "metadata": now.Metadata})
		} else if status, what := c.change(r, table, now); what != "" {
			fault(status, what)
		} else {
			reply(http.StatusOK, struct{}{})
		}
	}
}

// commitRequest is a request to change a table.
type commitRequest struct {
	Requirements []struct {
		Type, UUID string
		Snapshot   *int64 `json:"snapshot-id"`
	}
	Updates []catalog.Update
}

// change commits a request, or returns an error status and message.
func (c *catalogServer) change(r *http.Request, name string, now catalog.Current) (status int, what string) {
	var req commitRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Requirements) == 0 {
		c.t.Error(err, req)
	}
	if status, what := c.refuses(&req, now); what != "" {
		return status, what
	}
	if now.Metadata == nil && (req.Updates[0].UUID != c.staged[name].UUID || req.Updates[2].Location+"/" != c.staged[name].Location) {
		c.t.Errorf("%s is created as %v, and was staged as %v", name, req.Updates[:3], c.staged[name])
	}
	for i, u := range req.Updates { // the server renumbers a table's first schema
		if c.nessie && now.Metadata == nil && u.Action == "add-schema" {
			req.Updates[i].Schema = renumbered(u.Schema)
			break
		}
	}
	c.commits++
	if c.commits%5 == 1 {
		return http.StatusConflict, "a rival"
	}
	if err := c.Commit(r.Context(), catalog.Change{Name: name, Base: now, Updates: req.Updates}); err != nil {
		c.t.Error(err)
	}
	if c.commits%5 == 3 {
		return http.StatusInternalServerError, "a lost answer"
	}
	return 0, ""
}

// renumbered returns a schema with new field ids, as catalogs assign them to a table's first one.
func renumbered(s *iceberg.Schema) *iceberg.Schema {
	fields := s.Fields()
	for i := range fields {
		fields[i].ID = i + 1
	}
	return iceberg.NewSchema(0, fields...)
}

// refuses returns an error status and message for an invalid request.
func (c *catalogServer) refuses(req *commitRequest, now catalog.Current) (status int, what string) {
	for _, q := range req.Requirements {
		switch {
		case q.Type == "assert-create" && now.Metadata == nil, q.Type == "assert-table-uuid" && now.Metadata != nil && q.UUID == now.UUID:
		case q.Type == "assert-ref-snapshot-id" && now.Metadata != nil && *q.Snapshot == *now.CurrentSnapshot:
		default:
			return http.StatusConflict, "requirement"
		}
	}
	set := 0
	for _, u := range req.Updates { // as strict servers require it
		if u.Action == "add-schema" && (u.LastColumn < u.Schema.HighestFieldID() || now.Metadata != nil && u.LastColumn < now.LastColumn) {
			return http.StatusBadRequest, "last-column-id"
		}
		if u.Action == "set-properties" {
			set++
		}
		if len(u.Gone) > 1 {
			return http.StatusBadRequest, "several snapshots in an update"
		}
		if c.nessie && (u.Action == "remove-snapshots" || strings.HasSuffix(u.Action, "-ref") && u.Ref != catalog.MainBranch) {
			return http.StatusInternalServerError, "does not allow external snapshot management"
		}
	}
	if set > 1 {
		return http.StatusBadRequest, "two updates of one kind"
	}
	return 0, ""
}

// Publishing works through a catalog server whatever credentials it requires, wherever it locates
// tables, and even if its answers are lost. If the server can, it changes all tables at once.
func TestCatalogServer(t *testing.T) {
	tried := longtest.Each(3)
	for n, name := range []string{"plain", "atomic elsewhere", "nessie elsewhere"} {
		if !tried(n) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			h, dir := newTestWarehouse(t), t.TempDir()
			s, root, err := store.Open(filepath.Join(dir, "catalog"))
			h.must(err)
			c := &catalogServer{Files: catalog.NewFiles(s, root), t: t, seen: map[string]int{}, staged: map[string]catalog.Leftover{}, atomic: strings.HasPrefix(name, "atomic"), nessie: strings.HasPrefix(name, "nessie")}
			if strings.HasSuffix(name, "elsewhere") {
				c.elsewhere = "file://" + filepath.Join(dir, "own", "place")
			}
			server := httptest.NewServer(c)
			defer server.Close()
			through := func(o *Options) {
				o.Catalog, o.Namespace, o.CatalogWarehouse, o.Credential = server.URL+"/", "one.two", "w", "me:s:cret"
			}
			to := filepath.Join(dir, "lake")
			for night := range 4 {
				h.night(call{"a", "x", 0, night, 1}, call{"b", "y", night, 1, 1})
				if night == 2 {
					h.forget("a")
				}
				made, err := h.publish(to, through)
				h.must(err)
				if (made.Tag == "") != c.nessie {
					t.Errorf("the tag is %q", made.Tag)
				}
				l := newLake(h, to)
				l.catalog, err = catalog.Open(context.Background(), &catalog.Access{Catalog: server.URL, Namespace: "one.two", CatalogWarehouse: "w", Token: "t0ken"})
				h.must(err)
				if now := l.load("calls"); c.nessie && len(now.Refs) > 1 {
					t.Errorf("the names are %v", now.Refs)
				}
				if !c.nessie {
					l.check()
				}
				if made, err = h.publish(to, through); err != nil || made.Uploaded > 0 || slices.ContainsFunc(made.Tables, func(t Table) bool { return t.Added+t.Deleted > 0 }) {
					t.Errorf("published again: %+v, %v", made, err)
				}
			}
			t.Log(c.seen)
			if c.seen["a rival"] == 0 || c.seen["a lost answer"] == 0 || c.seen["no namespace"] != 1 || c.atomic && c.seen["several at once"] < 4 {
				t.Error("nothing went wrong")
			}
			if there, err := os.ReadDir(to); c.elsewhere != "" && (err != nil || len(there) != 1 || there[0].Name() != ".callhouse") {
				t.Errorf("beside the lease it left %v, %v", there, err)
			}
			_, err = h.publish(to, through, func(o *Options) { o.Credential, o.Token = "", "wrong" })
			if var401 := new(catalog.StatusError); !errors.As(err, &var401) || var401.Status != http.StatusUnauthorized || !strings.Contains(err.Error(), "authorization Bearer wrong") {
				t.Errorf("with another token: %v", err)
			}
		})
	}
}

// Unknown metadata of other programs is kept, and statistics are removed with their snapshots.
func TestMetadataOfOthers(t *testing.T) {
	h, dir := newTestWarehouse(t), t.TempDir()
	for night := range 2 {
		h.night(call{"a", "x", night, 1, 1})
		_, err := h.publish(dir)
		h.must(err)
	}
	l := newLake(h, dir)
	raw, err := json.Marshal(l.load("calls").Metadata)
	h.must(err)
	var all map[string]json.RawMessage
	h.must(json.Unmarshal(raw, &all))
	m, err := catalog.Parse(raw)
	h.must(err)
	if len(m.Snapshots) != 2 || len(m.SnapshotLog) != 2 || len(m.MetadataLog) != 1 {
		t.Fatalf("%d snapshots, %d and %d lines of logs", len(m.Snapshots), len(m.SnapshotLog), len(m.MetadataLog))
	}
	first := m.Snapshots[0].ID
	all["encryption-keys"] = json.RawMessage("[]")
	all["statistics"] = fmt.Appendf(nil, `[{"snapshot-id": %d}, {"snapshot-id": %d, "statistics-path": "p"}]`, first, m.Snapshots[1].ID)
	raw, err = json.Marshal(all)
	h.must(err)
	if m, err = catalog.Parse(raw); err != nil {
		t.Fatal(err)
	}
	after, err := m.Apply([]catalog.Update{{Action: "remove-snapshots", Gone: []int64{first}}}, "v2", time.Now())
	h.must(err)
	raw, err = json.Marshal(after)
	h.must(err)
	if text := string(raw); !strings.Contains(text, `"encryption-keys":[]`) || !strings.Contains(text, `"statistics-path":"p"`) || strings.Count(text, fmt.Sprint(first)) != 1 || // as the second one's parent
		len(after.Snapshots) != 1 || len(after.SnapshotLog) != 1 || len(after.Refs) != 2 || len(m.Snapshots) != 2 || len(m.MetadataLog) != 1 {
		t.Errorf("after the first snapshot is removed: %s", text)
	}
	all["format-version"] = json.RawMessage("4")
	raw, err = json.Marshal(all)
	h.must(err)
	if _, err := catalog.Parse(raw); err == nil || !strings.Contains(err.Error(), "version 4") {
		t.Errorf("of another version: %v", err)
	}
}

// TestBusyCatalog publishes through a catalog that fails one of five requests with 429, 500, 502,
// 503, 504, or no answer, before or after performing it.
func TestBusyCatalog(t *testing.T) {
	h, dir := newTestWarehouse(t), t.TempDir()
	s, root, err := store.Open(filepath.Join(dir, "catalog"))
	h.must(err)
	c := &catalogServer{Files: catalog.NewFiles(s, root), t: t, seen: map[string]int{}, staged: map[string]catalog.Leftover{}}
	var mu sync.Mutex
	seen, n := map[string]int{}, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
		w.Header().Set("Retry-After", []string{"0", "Thu, 01 Jan 1970 00:00:00 GMT"}[now/5%2])
		w.WriteHeader(status)
		fmt.Fprint(w, "slow\r\n down")
	}))
	defer server.Close()
	for night := range 3 {
		h.night(call{"a", "x", 0, night, 1}, call{"b", "y", night, 1, 1})
		_, err := h.publish(filepath.Join(dir, "lake"), func(o *Options) {
			o.Catalog, o.Namespace, o.CatalogWarehouse, o.Credential = server.URL, "one.two", "w", "me:s:cret"
		})
		h.must(err)
	}
	l := newLake(h, filepath.Join(dir, "lake"))
	l.catalog, err = catalog.Open(context.Background(), &catalog.Access{Catalog: server.URL, Namespace: "one.two", CatalogWarehouse: "w", Token: "t0ken"})
	h.must(err)
	l.check()
	t.Log(seen)
	if len(seen) < 12 {
		t.Errorf("only %v went wrong", seen)
	}
}

// TestNoCatalog connects to addresses without a working catalog: the message is one comprehensible
// line.
func TestNoCatalog(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		body, want string
		hint       string
		requests   int
	}{
		"a login page":      {200, "<!DOCTYPE html>\n<html><head><title>Sign in\n</title></head>", "the catalog answers 200 OK: not a catalog's answer, but a web page (Sign in)", "--catalog", 1},
		"a page of nothing": {200, "<html></html>", "the catalog answers 200 OK: not a catalog's answer, but a web page", "--catalog", 1},
		"another program":   {200, `["a"]`, "the catalog answers 200 OK: not what a catalog answers", "--catalog", 1},
		"a broken program":  {500, "Internal\nError\n", "the catalog answers 500 Internal Server Error: Internal Error", "publish again", catalog.Attempts},
		"no access":         {403, `{"error":{"message":"not\nyou"}}`, "the catalog answers 403 Forbidden: not you", "CALLHOUSE_CATALOG_CREDENTIAL", 1},
		"no reason":         {501, " \n", "the catalog answers 501 Not Implemented", "", 1},
		"too much":          {429, "", "the catalog answers 429 Too Many Requests", "publish again", catalog.Attempts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}))
			defer server.Close()
			_, err := catalog.Open(t.Context(), &catalog.Access{Catalog: server.URL, Namespace: "calls"})
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
