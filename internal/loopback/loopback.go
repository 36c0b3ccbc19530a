// Package loopback keeps a test on this machine: a client in it reaches no other.
package loopback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"testing"
)

// proxy is a loopback address that nothing listens at.
const proxy = "http://127.0.0.1:9"

// Only sends all requests of this process that do not go to a loopback address to a
// proxy that is not there, and lets no name be looked up over the network. It must
// run before the first request. Child processes are not affected.
func Only() {
	names := []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "REQUEST_METHOD"}
	for _, name := range names {
		if was, ok := os.LookupEnv(name); ok {
			defer os.Setenv(name, was)
		} else {
			defer os.Unsetenv(name)
		}
		_ = os.Unsetenv(name)
	}
	if err := errors.Join(os.Setenv(names[0], proxy), os.Setenv(names[2], proxy)); err != nil {
		panic(err)
	}
	// net/http reads the variables once, now.
	for _, scheme := range []string{"http", "https"} {
		u, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: scheme, Host: "example.com"}})
		if err != nil || u == nil || u.String() != proxy {
			panic(fmt.Sprintf("loopback: requests leave by %v (%v): Only must come before the first request", u, err))
		}
	}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("tests look up no names")
	}}
}

// Main runs a package's tests on this machine alone.
func Main(m *testing.M) {
	Only()
	os.Exit(m.Run())
}
