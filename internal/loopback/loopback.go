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

// init has net/http read a proxy from the environment, which it does once. A library may do so in an
// init of its own, and packages are initialised in the order of their paths where none needs the
// other: this one comes before all that begin with a domain.
func init() {
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
	_, _ = http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "http", Host: "example.com"}}) // Only looks at the result
}

// Only sends all requests of this process that do not go to a loopback address to a
// proxy that is not there, and lets no name be looked up over the network. It must
// run before the first request. Child processes are not affected.
func Only() {
	for _, scheme := range []string{"http", "https"} {
		u, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: scheme, Host: "example.com"}})
		if err != nil || u == nil || u.String() != proxy {
			panic(fmt.Sprintf("loopback: requests leave by %v (%v): the proxy was read before this package's init", u, err))
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
