package publish

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"callhouse/internal/publish/catalog"
	"callhouse/internal/publish/store"
)

// verified reports whether a request has the signature specified in AWS's documentation. make
// lake-catalogs also verifies it with AWS's own Python library.
func verified(r *http.Request, secret, service, region string) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	sum := sha256.Sum256(body)
	if got := r.Header.Get("X-Amz-Content-Sha256"); got != hex.EncodeToString(sum[:]) {
		return fmt.Errorf("the sum of the body is %q", got)
	}
	credential, rest, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="), ", SignedHeaders=")
	names, signature, _ := strings.Cut(rest, ", Signature=")
	day, _, _ := strings.Cut(r.Header.Get("X-Amz-Date"), "T")
	scope := day + "/" + region + "/" + service + "/aws4_request"
	if credential != "test/"+scope {
		return fmt.Errorf("it is signed by %q, not in %q", credential, scope)
	}
	var path []string
	for _, part := range strings.Split(r.URL.EscapedPath(), "/") {
		path = append(path, strings.ReplaceAll(url.QueryEscape(part), "+", "%20"))
	}
	query := strings.Split(r.URL.RawQuery, "&")
	slices.Sort(query)
	canonical := r.Method + "\n" + strings.Join(path, "/") + "\n" + strings.Join(query, "&") + "\n"
	for _, name := range strings.Split(names, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		canonical += name + ":" + value + "\n"
	}
	canonical += "\n" + names + "\n" + hex.EncodeToString(sum[:])
	hashed := sha256.Sum256([]byte(canonical))
	key := []byte("AWS4" + secret)
	for _, part := range []string{day, region, service, "aws4_request", "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + scope + "\n" + hex.EncodeToString(hashed[:])} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	if signature != hex.EncodeToString(key) || !strings.Contains(names, "host") || !strings.Contains(names, "x-amz-date") {
		return fmt.Errorf("another signature of %q", canonical)
	}
	return nil
}

// TestSignedCatalog publishes through a catalog that requires signed requests: configured
// explicitly, and by the catalog's own settings.
func TestSignedCatalog(t *testing.T) {
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprint(told), func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", "test")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
			t.Setenv("AWS_SESSION_TOKEN", "session")
			h, dir := newHouse(t), t.TempDir()
			s, root, err := store.Open(filepath.Join(dir, "catalog"))
			h.must(err)
			c := &catalogServer{Files: catalog.NewFiles(s, root), t: t, seen: map[string]int{}, staged: map[string]catalog.Relic{}, separator: "\x1f"}
			if !told {
				c.settings = map[string]string{"rest.sigv4-enabled": "true", "rest.signing-name": "glue", "rest.signing-region": "eu-west-3"}
			}
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if told || r.URL.Path != "/v1/config" {
					requests.Add(1)
					if err := verified(r, "s3cret", "glue", "eu-west-3"); err != nil || r.Header.Get("X-Amz-Security-Token") != "session" {
						t.Errorf("%s %s: %v", r.Method, r.URL, err)
					}
				}
				r.Header.Set("Authorization", "Bearer t0ken")
				c.ServeHTTP(w, r)
			}))
			defer server.Close()
			h.night(call{"a", "x", 0, 1, 1})
			_, err = h.publish(filepath.Join(dir, "lake"), func(o *Options) {
				o.Catalog, o.Namespace, o.CatalogWarehouse = server.URL, "one.two", "w"
				if told {
					o.SigningName, o.SigningRegion = "glue", "eu-west-3"
				}
			})
			h.must(err)
			if requests.Load() < 30 {
				t.Errorf("only %d requests were signed", requests.Load())
			}
		})
	}
}
