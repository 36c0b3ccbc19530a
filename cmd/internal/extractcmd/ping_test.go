package extractcmd

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
)

func TestPing(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		url  string // after the server's address
		fail []int  // the server's first answers
		asks string // the final request
		says string // in the log
	}{
		{"done", nil, "/secret", nil, "GET /secret ", ""},
		{"failed", errors.New("no key\nat all"), "/secret?x=1", nil, "POST /secret/fail?x=1 exit code 1: no key\n", ""},
		{"incomplete", cli.Fail(cli.ExitIncomplete, errors.New("time"), "hint"), "/secret/", nil, "POST /secret/fail exit code 3: time\n", ""},
		{"locked", cli.Fail(cli.ExitLocked, errors.New("held"), ""), "/secret", nil, "", ""},
		{"again", nil, "/secret", []int{500, 503}, "GET /secret ", ""},
		{"down", nil, "/secret", []int{500, 500, 500, 500}, "", "it responded with status 500"},
		{"unknown", nil, "/secret", []int{404, 404}, "", "it responded with status 404"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked, n := "", 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n++; n <= len(c.fail) {
					w.WriteHeader(c.fail[n-1])
					return
				}
				body, _ := io.ReadAll(r.Body)
				asked = r.Method + " " + r.URL.String() + " " + string(body)
			}))
			defer server.Close()
			var said bytes.Buffer
			ping(t.Context(), server.URL+c.url, c.err, nil, slog.New(slog.NewTextHandler(&said, nil)))
			if asked != c.asks || !strings.Contains(said.String(), c.says) || c.says == "" && said.Len() > 0 {
				t.Errorf("it was asked for %q, want %q; the log says %q", asked, c.asks, said.String())
			}
			if strings.Contains(said.String(), "secret") {
				t.Errorf("the log tells the address: %s", said.String())
			}
			if c.name == "unknown" && n != 1 {
				t.Errorf("what is not there was asked for %d times", n)
			}
		})
	}
}

// An unreachable or invalid address gives a warning with only the host.
func TestPingNowhere(t *testing.T) {
	for _, url := range []string{"http://127.0.0.1:1/secret", "://secret", "http://host/%zzsecret", "secret"} {
		for _, err := range []error{nil, errors.New("x")} {
			var said bytes.Buffer
			ping(t.Context(), url, err, nil, slog.New(slog.NewJSONHandler(&said, nil)))
			if !strings.Contains(said.String(), "cannot ping") || strings.Contains(said.String(), "secret") {
				t.Errorf("%s: %s", url, said.String())
			}
		}
	}
}
