package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// server is a catalog that speaks Iceberg's REST protocol:
// https://iceberg.apache.org/rest-catalog-spec
type server struct {
	client    *http.Client
	base      string // of all addresses below
	prefix    string // the server's prefix for namespaces
	namespace []string
	separator string // between a namespace's parts, in addresses
}

const (
	// answerTime is the timeout for a catalog's response, and answerSize its maximum size.
	answerTime = time.Minute
	answerSize = 64 << 20
	// attempts is the number of attempts for a request while the catalog is busy, or for a commit whose
	// response is lost.
	attempts = 8
)

// Access configures a REST catalog.
type Access struct {
	Catalog   string // its address
	Namespace string // of the tables
	// CatalogWarehouse, Token and Credential are parameters that a catalog may require.
	CatalogWarehouse, Token, Credential string
}

// statusError is an unsuccessful response, or one that does not come from a catalog.
type statusError struct {
	status  int
	message string
	wait    error // makes retries wait as long as the catalog requests; nil: it does not
}

// Unwrap returns the error that controls the retries.
func (e *statusError) Unwrap() error { return e.wait }

func (e *statusError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("the catalog answers %d %s: %s", e.status, http.StatusText(e.status), e.message), ": ")
}

// Hint returns advice for the operator.
func (e *statusError) Hint() string {
	switch {
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden:
		return "check CALLHOUSE_CATALOG_CREDENTIAL, CALLHOUSE_CATALOG_TOKEN or the AWS credentials, and their permissions"
	case e.busy():
		return "nothing was lost; publish again once the catalog answers"
	case e.status < http.StatusBadRequest:
		return "check --catalog: it is the part of the address before /v1, without a redirect or a login page in front of it"
	}
	return ""
}

// busy reports whether the same request may succeed later.
func (e *statusError) busy() bool {
	return e.status == http.StatusTooManyRequests || e.status >= http.StatusInternalServerError && e.status != http.StatusNotImplemented
}

func isStatus(err error, status ...int) bool {
	s, ok := errors.AsType[*statusError](err)
	return ok && slices.Contains(status, s.status)
}

// openREST connects to a catalog.
func openREST(ctx context.Context, o *Access) (catalog, error) {
	s := &server{base: strings.TrimRight(o.Catalog, "/") + "/v1", namespace: strings.Split(o.Namespace, "."), separator: "\x1f"}
	if err := s.authorize(o); err != nil {
		return nil, err
	}
	err := s.configure(ctx, o)
	if err == nil {
		err = s.do(ctx, http.MethodGet, s.path(), nil, nil)
	}
	if isStatus(err, http.StatusNotFound) {
		err = s.do(ctx, http.MethodPost, s.prefix+"/namespaces", map[string]any{"namespace": s.namespace, "properties": map[string]string{}}, nil)
		if isStatus(err, http.StatusConflict) { // another client has created it
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the catalog at %s: %w", o.Catalog, err)
	}
	return s, nil
}

// configure applies the settings of the catalog. Credentials go to no other host than the configured
// one, whatever these say.
func (s *server) configure(ctx context.Context, o *Access) error {
	query := url.Values{}
	if o.CatalogWarehouse != "" {
		query.Set("warehouse", o.CatalogWarehouse)
	}
	var config struct {
		Defaults, Overrides map[string]string
	}
	if err := s.do(ctx, http.MethodGet, "/config?"+query.Encode(), nil, &config); err != nil {
		return err
	}
	settings := maps.Collect(maps.All(config.Defaults))
	maps.Copy(settings, config.Overrides)
	if own := settings["uri"]; own != "" {
		if err := s.moveTo(own); err != nil {
			return err
		}
	}
	if prefix := settings["prefix"]; prefix != "" {
		s.prefix = "/" + prefix
	}
	if sep, err := url.PathUnescape(settings["namespace-separator"]); err == nil && sep != "" {
		s.separator = sep
	}
	return nil
}

// moveTo takes the catalog's own address of itself, which must be on the same host.
func (s *server) moveTo(at string) error {
	base, err := url.Parse(s.base)
	if err != nil {
		return err
	}
	to, err := base.Parse(at)
	if err != nil {
		return err
	}
	if to.Host != base.Host || to.Scheme != base.Scheme {
		return &UseError{fmt.Sprintf("its setting uri is on another host, %s://%s, to which no credentials are sent: "+
			"set --catalog to that host's catalog", to.Scheme, to.Host)}
	}
	s.base = strings.TrimRight(to.String(), "/") + "/v1"
	return nil
}

// noRedirect refuses redirects: credentials are for the configured address.
func noRedirect(r *http.Request, _ []*http.Request) error {
	return answered(r.Response, fmt.Sprintf("it redirects to %s://%s", r.URL.Scheme, r.URL.Host))
}

// authorize sets up the authentication of requests: a signature for the catalogs of AWS, a token, or a
// token that the catalog gives for a credential (id:secret).
func (s *server) authorize(o *Access) (err error) {
	transport := http.DefaultTransport
	switch service, region := signingOf(o.Catalog); {
	case service != "":
		if transport, err = newSigning(service, region); err != nil {
			return err
		}
	case o.Token != "":
		transport = &oauth2.Transport{Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: o.Token})}
	case o.Credential != "":
		id, secret, ok := strings.Cut(o.Credential, ":")
		if !ok {
			id, secret = "", o.Credential
		}
		c := clientcredentials.Config{ClientID: id, ClientSecret: secret, TokenURL: s.base + "/oauth/tokens", Scopes: []string{"catalog"},
			AuthStyle: oauth2.AuthStyleInParams}
		transport = &oauth2.Transport{Source: c.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient,
			&http.Client{Timeout: answerTime, CheckRedirect: noRedirect}))}
	}
	s.client = &http.Client{Timeout: answerTime, Transport: transport, CheckRedirect: noRedirect}
	return nil
}

// path returns the address of the namespace, or of something below it.
func (s *server) path(below ...string) string {
	p := s.prefix + "/namespaces/" + url.PathEscape(strings.Join(s.namespace, s.separator))
	for _, b := range below {
		p += "/" + url.PathEscape(b)
	}
	return p
}

// do sends a request, and retries it if the catalog is busy or unreachable. An unsuccessful
// response is a *statusError.
func (s *server) do(ctx context.Context, method, path string, body, into any) error {
	return retry(ctx, func() error {
		err := s.once(ctx, method, path, body, into)
		if status, ok := errors.AsType[*statusError](err); ok && !status.busy() || ctx.Err() != nil {
			err = backoff.Permanent(err)
		}
		return err
	})
}

// retry repeats a request until its error is permanent.
func retry(ctx context.Context, ask func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, ask() }, backoff.WithMaxTries(attempts),
		backoff.WithMaxElapsedTime(10*time.Minute), backoff.WithBackOff(&backoff.ExponentialBackOff{
			InitialInterval: 100 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 10 * time.Second,
		}))
	return err
}

// once sends one request.
func (s *server) once(ctx context.Context, method, path string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if body == nil {
		raw = nil
	}
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(r)
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil { // it was not even sent
		return answered(refused.Response, "no token: "+said(refused.Body))
	}
	if redirected, ok := errors.AsType[*statusError](err); ok { // without the address, which may hold a secret
		return redirected
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	raw, err = io.ReadAll(io.LimitReader(answer.Body, answerSize+1))
	switch {
	case answer.StatusCode/100 != 2:
		return answered(answer, said(raw))
	case err != nil:
		return err
	case len(raw) > answerSize:
		return answered(answer, fmt.Sprintf("more than %d MiB", answerSize>>20))
	case len(raw) > 0 && !json.Valid(raw):
		return answered(answer, "not a catalog's answer, but "+said(raw))
	case into != nil:
		if err := json.Unmarshal(raw, into); err != nil {
			return answered(answer, "not what a catalog answers: "+err.Error())
		}
	}
	return nil
}

// answered returns the error for a response.
func answered(answer *http.Response, message string) *statusError {
	e := &statusError{status: answer.StatusCode, message: message}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds >= 0 && seconds <= 300 && e.busy() {
		e.wait = backoff.RetryAfter(seconds)
	}
	return e
}

// said returns the message of a response on one line: that of an error of the protocol, or the
// beginning of a text.
func said(raw []byte) string {
	var answer struct{ Error struct{ Message string } }
	text := string(raw)
	if json.Unmarshal(raw, &answer) == nil && answer.Error.Message != "" {
		text = answer.Error.Message
	}
	return fmt.Sprintf("%.200s", strings.Join(strings.Fields(text), " "))
}

// take takes a table from a catalog's response.
func (t *table) take(a *answer) (err error) {
	if t.meta, err = parse(a.Metadata); err != nil {
		err = broken("the metadata of %s in the catalog cannot be used: %v", t.of.Name, err)
	}
	return err
}

// answer is a catalog's response about a table.
type answer struct{ Metadata json.RawMessage }

func (s *server) load(ctx context.Context, t *table) error {
	var found answer
	err := s.do(ctx, http.MethodGet, s.path("tables", t.of.Name), nil, &found)
	if isStatus(err, http.StatusNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.take(&found)
}

// create creates a table without rows. The catalog may choose its location, and number its columns
// itself: the first commit adds a schema with the numbers in the files.
func (s *server) create(ctx context.Context, t *table) error {
	columns, _ := schemaOf(t.of, 0)
	var made answer
	err := s.do(ctx, http.MethodPost, s.path("tables"), map[string]any{"name": t.of.Name, "location": t.To + "/" + t.of.Name,
		"schema": columns, "properties": map[string]string{"format-version": strconv.Itoa(formatVersion)}}, &made)
	if isStatus(err, http.StatusConflict) { // its answer was lost, perhaps
		if e := s.load(ctx, t); e != nil || t.meta != nil {
			return e
		}
	}
	if err != nil {
		return err
	}
	return t.take(&made)
}

func (s *server) commit(ctx context.Context, c *change) error {
	body := map[string]any{
		"identifier": map[string]any{"namespace": s.namespace, "name": c.of.Name},
		"requirements": []map[string]any{{"type": "assert-table-uuid", "uuid": c.meta.UUID},
			{"type": "assert-ref-snapshot-id", "ref": mainBranch, "snapshot-id": c.meta.CurrentSnapshot}},
		"updates": c.updates(),
	}
	return retry(ctx, func() error {
		err := s.once(ctx, http.MethodPost, s.path("tables", c.of.Name), body, nil)
		if err == nil {
			c.meta = c.apply()
			return nil
		}
		status, ok := errors.AsType[*statusError](err)
		if ok && status.status != http.StatusConflict && status.status < http.StatusInternalServerError {
			if status.status != http.StatusTooManyRequests {
				err = backoff.Permanent(err)
			}
			return err
		}
		// Its answer, or that to an attempt before, may be lost.
		if e := s.load(ctx, c.table); e != nil {
			return backoff.Permanent(errors.Join(err, e))
		}
		switch {
		case c.meta != nil && c.meta.Properties[published] == c.publishes() &&
			(c.snapshot == nil || c.meta.head() != nil && c.meta.head().ID == c.snapshot.ID):
			return nil
		case ok && status.status == http.StatusConflict:
			return backoff.Permanent(conflict(s.base))
		}
		return err
	})
}
