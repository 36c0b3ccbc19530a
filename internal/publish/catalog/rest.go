package catalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
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
	can       Capabilities
}

// Transactions is the endpoint that commits several tables, as a catalog lists it.
const Transactions = "POST /v1/{prefix}/transactions/commit"

// answerTime is the timeout for a catalog's response.
const answerTime = time.Minute

const (
	// Attempts is the number of attempts for a request while the catalog is busy.
	Attempts = 8
	// MaxRetry is how long commits are retried that conflict with others.
	MaxRetry = 10 * time.Minute
	// longest is the maximum wait before a retry that a catalog may request.
	longest = 5 * time.Minute
)

// StatusError is an unsuccessful response, or one that does not come from a catalog.
type StatusError struct {
	Status  int
	message string
}

func (e *StatusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("the catalog answers %d %s", e.Status, http.StatusText(e.Status)))
	if e.message == "" {
		return text
	}
	return text + ": " + e.message
}

// Hint returns advice for the operator.
func (e *StatusError) Hint() string {
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return "check CALLHOUSE_CATALOG_CREDENTIAL, CALLHOUSE_CATALOG_TOKEN or the AWS credentials, and their permissions"
	case e.Status == http.StatusTooManyRequests, e.Status >= http.StatusInternalServerError:
		return "nothing was lost; publish again once the catalog answers"
	case e.Status/100 == 2:
		return "check --catalog: it is the part of the address before /v1, without a login page in front of it"
	}
	return ""
}

// busy reports whether the same request may succeed later.
func (e *StatusError) busy() bool {
	return e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError && e.Status != http.StatusNotImplemented
}

func isStatus(err error, status int) bool {
	var s *StatusError
	return errors.As(err, &s) && s.Status == status
}

// Access configures a REST catalog.
type Access struct {
	Catalog   string // its address
	Namespace string // of the tables
	// CatalogWarehouse, Token and Credential are parameters that a catalog may require.
	CatalogWarehouse, Token, Credential string
	// SigningName is the AWS service for which requests are signed, such as glue; empty: determined
	// by the catalog's address, or none. SigningRegion is the service's region; empty: the default
	// region.
	SigningName, SigningRegion string
}

// Open connects to a catalog.
func Open(ctx context.Context, o *Access) (Catalog, error) {
	uri := o.Catalog
	s := &server{base: strings.TrimRight(uri, "/") + "/v1", namespace: strings.Split(o.Namespace, "."), separator: "\x1f",
		can: Capabilities{Tags: true}}
	service, region := signingOf(uri, o)
	if err := s.authorize(o, s.base+"/oauth/tokens", service, region); err != nil {
		return nil, err
	}
	var config struct {
		Defaults, Overrides map[string]string
		Endpoints           []string
	}
	query := url.Values{}
	if o.CatalogWarehouse != "" {
		query.Set("warehouse", o.CatalogWarehouse)
	}
	if err := s.do(ctx, http.MethodGet, "/config?"+query.Encode(), nil, &config); err != nil {
		return nil, fmt.Errorf("the catalog at %s: %w", uri, err)
	}
	settings := maps.Collect(maps.All(config.Defaults))
	maps.Copy(settings, config.Overrides)
	if own := settings["uri"]; own != "" {
		s.base = strings.TrimRight(own, "/") + "/v1"
	}
	at, signs := settings["oauth2-server-uri"], settings["rest.sigv4-enabled"] == "true" && service == ""
	if signs {
		service, region = cmp.Or(settings["rest.signing-name"], "execute-api"), cmp.Or(o.SigningRegion, settings["rest.signing-region"], region)
	}
	if at != "" || signs {
		if err := s.authorize(o, at, service, region); err != nil {
			return nil, err
		}
	}
	s.can.Atomic = slices.Contains(config.Endpoints, Transactions)
	if settings["nessie.is-nessie-catalog"] == "true" { // it refuses to remove snapshots, and drops all but the newest
		s.can.Tags = false
	}
	if prefix := settings["prefix"]; prefix != "" {
		s.prefix = "/" + prefix
	}
	if sep, err := url.PathUnescape(settings["namespace-separator"]); err == nil && sep != "" {
		s.separator = sep
	}
	err := s.do(ctx, http.MethodGet, s.path(), nil, nil)
	if isStatus(err, http.StatusNotFound) {
		err = s.do(ctx, http.MethodPost, s.prefix+"/namespaces", map[string]any{"namespace": s.namespace, "properties": map[string]string{}}, nil)
		if isStatus(err, http.StatusConflict) { // another client has created it
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the catalog at %s: %w", uri, err)
	}
	return s, nil
}

// authorize sets up the authentication of requests: a signature if an AWS service is named, a
// token, or a token obtained with a credential (id:secret) from the address at.
func (s *server) authorize(o *Access, at, service, region string) (err error) {
	transport := http.DefaultTransport
	switch {
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
		c := clientcredentials.Config{ClientID: id, ClientSecret: secret, TokenURL: at, Scopes: []string{"catalog"},
			AuthStyle: oauth2.AuthStyleInParams}
		transport = &oauth2.Transport{Source: c.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient,
			&http.Client{Timeout: answerTime}))}
	}
	s.client = &http.Client{Timeout: answerTime, Transport: transport}
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
// response is a *StatusError.
func (s *server) do(ctx context.Context, method, path string, body, into any) error {
	return s.retry(ctx, func() error { return s.once(ctx, method, path, body, into) })
}

// retry repeats a request until the catalog responds.
func (s *server) retry(ctx context.Context, ask func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := ask()
		if status, ok := errors.AsType[*StatusError](err); ok && !status.busy() || ctx.Err() != nil {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxTries(Attempts), backoff.WithMaxElapsedTime(MaxRetry), backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: 100 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 10 * time.Second,
	}))
	return err
}

// once sends one request.
func (s *server) once(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, content)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(r)
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil { // it was not even sent
		return later(&StatusError{refused.Response.StatusCode, "no token: " + said(refused.Body)}, refused.Response)
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	switch {
	case answer.StatusCode/100 != 2:
		return later(&StatusError{answer.StatusCode, said(raw)}, answer)
	case err != nil:
		return err
	case len(raw) > 0 && !json.Valid(raw):
		return &StatusError{answer.StatusCode, "not a catalog's answer, but " + said(raw)}
	case into != nil:
		if err := json.Unmarshal(raw, into); err != nil {
			return &StatusError{answer.StatusCode, "not what a catalog answers: " + err.Error()}
		}
	}
	return nil
}

// later adds to an error the wait that the catalog requests.
func later(err *StatusError, answer *http.Response) error {
	text := strings.TrimSpace(answer.Header.Get("Retry-After"))
	if text == "" || !err.busy() {
		return err
	}
	wait := time.Duration(-1)
	if seconds, e := strconv.Atoi(text); e == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, e := http.ParseTime(text); e == nil {
		wait = max(0, time.Until(at))
	}
	if wait < 0 || wait > longest {
		return err
	}
	return &laterError{err, wait}
}

// laterError is a response that states when to retry.
type laterError struct {
	*StatusError
	wait time.Duration
}

// Unwrap returns the response's error, and the error that controls the retries.
func (e *laterError) Unwrap() []error {
	return []error{e.StatusError, &backoff.RetryAfterError{Duration: e.wait}}
}

// said returns the message of a response on one line: that of an error of the protocol, or the
// beginning of a text.
func said(raw []byte) string {
	var answer struct{ Error struct{ Message string } }
	text := string(raw)
	if json.Unmarshal(raw, &answer) == nil && answer.Error.Message != "" {
		text = answer.Error.Message
	}
	text = strings.Join(strings.Fields(text), " ")
	if strings.HasPrefix(text, "<") {
		title := titleRE.FindStringSubmatch(text)
		if title == nil {
			return "a web page"
		}
		text = fmt.Sprintf("a web page (%s)", strings.TrimSpace(title[1]))
	}
	if r := []rune(text); len(r) > 200 {
		text = string(r[:200]) + "…"
	}
	return text
}

var titleRE = regexp.MustCompile(`(?i)<title[^>]*>([^<]*)</title>`)

// table is a catalog's response about a table.
type table struct {
	Location string          `json:"metadata-location"`
	Metadata json.RawMessage `json:"metadata"`
}

// Load implements Catalog.
func (s *server) Load(ctx context.Context, name string) (Current, error) {
	var found table
	err := s.do(ctx, http.MethodGet, s.path("tables", name), nil, &found)
	if isStatus(err, http.StatusNotFound) {
		return Current{}, nil
	}
	if err != nil {
		return Current{}, err
	}
	m, err := Parse(found.Metadata)
	if err != nil {
		err = &BrokenError{What: fmt.Sprintf("the metadata of %s in the catalog cannot be used: %v", name, err)}
	}
	return Current{Metadata: m, File: found.Location}, err
}

// Capabilities implements Catalog.
func (s *server) Capabilities() Capabilities { return s.can }

// Stage implements Catalog.
func (s *server) Stage(ctx context.Context, t *New) (Leftover, error) {
	var staged struct{ Metadata Leftover }
	err := s.do(ctx, http.MethodPost, s.path("tables"), t, &staged)
	if isStatus(err, http.StatusNotAcceptable) || isStatus(err, http.StatusConflict) { // it does not support staging, or the table exists now
		err = nil
	}
	staged.Metadata.Location = strings.TrimRight(staged.Metadata.Location, "/")
	return staged.Metadata, err
}

// Commit implements Catalog.
func (s *server) Commit(ctx context.Context, changes ...Change) error {
	var all []map[string]any
	for _, c := range changes {
		requires := []map[string]any{{"type": "assert-create"}}
		if c.Base.Metadata != nil {
			requires = []map[string]any{{"type": "assert-table-uuid", "uuid": c.Base.UUID},
				{"type": "assert-ref-snapshot-id", "ref": MainBranch, "snapshot-id": c.Base.CurrentSnapshot}}
		}
		all = append(all, map[string]any{
			"identifier":   map[string]any{"namespace": s.namespace, "name": c.Name},
			"requirements": requires, "updates": c.Updates,
		})
	}
	path, body := s.path("tables", changes[0].Name), all[0]
	if len(all) > 1 {
		path, body = s.prefix+"/transactions/commit", map[string]any{"table-changes": all}
	}
	// After any other failure the tables are loaded again first, because the commit may have
	// succeeded.
	err := s.retry(ctx, func() error {
		err := s.once(ctx, http.MethodPost, path, body, nil)
		if err != nil && !isStatus(err, http.StatusTooManyRequests) {
			err = backoff.Permanent(err)
		}
		return err
	})
	var status *StatusError
	switch {
	case isStatus(err, http.StatusConflict):
		return ErrConflict
	case err != nil && (!errors.As(err, &status) || status.Status >= http.StatusInternalServerError):
		return fmt.Errorf("%w: %w", ErrStateUnknown, err)
	}
	return err
}
