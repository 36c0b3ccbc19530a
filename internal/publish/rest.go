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
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// server is a catalog that speaks the REST protocol of Iceberg:
// https://iceberg.apache.org/rest-catalog-spec
type server struct {
	client    *http.Client
	base      string // of all addresses below
	prefix    string // what the server wants in front of namespaces
	namespace []string
	separator string // of a namespace's parts, in addresses
}

// answerTime is how long a catalog may take for an answer.
const answerTime = time.Minute

// statusError is an answer that is no success.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("the catalog answers %d %s", e.status, http.StatusText(e.status)))
	if e.message == "" {
		return text
	}
	return text + ": " + e.message
}

func isStatus(err error, status int) bool {
	var s *statusError
	return errors.As(err, &s) && s.status == status
}

// openServer connects to a catalog. TOKEN or CREDENTIAL (id:secret) say who we are.
func openServer(ctx context.Context, uri, namespace, warehouse, token, credential string) (*server, error) {
	s := &server{base: strings.TrimRight(uri, "/") + "/v1", namespace: strings.Split(namespace, "."), separator: "\x1f"}
	s.authorize(token, credential, s.base+"/oauth/tokens")
	var config struct{ Defaults, Overrides map[string]string }
	query := url.Values{}
	if warehouse != "" {
		query.Set("warehouse", warehouse)
	}
	if err := s.do(ctx, http.MethodGet, "/config?"+query.Encode(), nil, &config); err != nil {
		return nil, fmt.Errorf("the catalog at %s: %w", uri, err)
	}
	settings := maps.Collect(maps.All(config.Defaults))
	maps.Copy(settings, config.Overrides)
	if own := settings["uri"]; own != "" {
		s.base = strings.TrimRight(own, "/") + "/v1"
	}
	if at := settings["oauth2-server-uri"]; at != "" {
		s.authorize(token, credential, at)
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
		if isStatus(err, http.StatusConflict) { // somebody else was quicker
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the catalog at %s: %w", uri, err)
	}
	return s, nil
}

// authorize has requests say who we are. at is where a credential gets a token.
func (s *server) authorize(token, credential, at string) {
	transport := http.DefaultTransport
	switch {
	case token != "":
		transport = &oauth2.Transport{Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})}
	case credential != "":
		id, secret, ok := strings.Cut(credential, ":")
		if !ok {
			id, secret = "", credential
		}
		c := clientcredentials.Config{ClientID: id, ClientSecret: secret, TokenURL: at, Scopes: []string{"catalog"}, AuthStyle: oauth2.AuthStyleInParams}
		transport = &oauth2.Transport{Source: c.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Timeout: answerTime}))}
	}
	s.client = &http.Client{Timeout: answerTime, Transport: transport}
}

// path is the address of the namespace, and of what is below it.
func (s *server) path(below ...string) string {
	p := s.prefix + "/namespaces/" + url.PathEscape(strings.Join(s.namespace, s.separator))
	for _, b := range below {
		p += "/" + url.PathEscape(b)
	}
	return p
}

// do asks the catalog. The error of an answer that is no success is a *statusError.
func (s *server) do(ctx context.Context, method, path string, body, into any) error {
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
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if answer.StatusCode/100 != 2 {
		var said struct{ Error struct{ Message string } }
		if json.Unmarshal(raw, &said) != nil || said.Error.Message == "" {
			said.Error.Message = strings.TrimSpace(string(raw[:min(len(raw), 300)]))
		}
		return &statusError{answer.StatusCode, said.Error.Message}
	}
	if err == nil && into != nil {
		err = json.Unmarshal(raw, into)
	}
	return err
}

// table is a catalog's answer about a table.
type table struct {
	Location string          `json:"metadata-location"`
	Metadata json.RawMessage `json:"metadata"`
}

func (s *server) load(ctx context.Context, name string) (current, error) {
	var found table
	err := s.do(ctx, http.MethodGet, s.path("tables", name), nil, &found)
	if isStatus(err, http.StatusNotFound) {
		return current{}, nil
	}
	if err != nil {
		return current{}, err
	}
	m, err := parse(found.Metadata)
	if err != nil {
		err = &BrokenError{fmt.Sprintf("the metadata of %s in the catalog cannot be used: %v", name, err)}
	}
	return current{metadata: m, location: found.Location}, err
}

func (s *server) restart(ctx context.Context, name string) (now current, was relic, err error) {
	var found table
	if err := s.do(ctx, http.MethodGet, s.path("tables", name), nil, &found); err != nil {
		return now, was, err
	}
	if err := json.Unmarshal(found.Metadata, &was); err != nil {
		return now, was, err
	}
	was.UUID = "" // the catalog may refuse one that it has dropped
	return now, was, s.do(ctx, http.MethodDelete, s.path("tables", name)+"?purgeRequested=false", nil, nil)
}

func (s *server) commit(ctx context.Context, name string, base current, updates []update) error {
	requires := []map[string]any{{"type": "assert-create"}}
	if base.metadata != nil {
		requires = []map[string]any{{"type": "assert-table-uuid", "uuid": base.UUID},
			{"type": "assert-ref-snapshot-id", "ref": mainBranch, "snapshot-id": base.CurrentSnapshot}}
	}
	err := s.do(ctx, http.MethodPost, s.path("tables", name), map[string]any{
		"identifier":   map[string]any{"namespace": s.namespace, "name": name},
		"requirements": requires, "updates": updates,
	}, nil)
	var status *statusError
	switch {
	case isStatus(err, http.StatusConflict):
		return errConflict
	case err != nil && (!errors.As(err, &status) || status.status >= http.StatusInternalServerError): // it may have been done all the same
		return errors.Join(errUnsure, err)
	}
	return err
}
