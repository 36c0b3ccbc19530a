package recording

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"code.dny.dev/ssrf"
)

const (
	connectTimeout = 10 * time.Second
	answerTimeout  = 30 * time.Second // until the headers arrive
	redirects      = 5
)

// newClient returns a client for hosts in untrusted links. Unless private is set, it connects to
// public addresses only. The address is checked after name resolution, on every connection, so
// neither a redirect nor a name that changes its address can reach others. A configured proxy
// resolves names itself, so with a proxy only addresses in links are checked.
func newClient(private bool) *http.Client {
	dial := net.Dialer{Timeout: connectTimeout}
	direct := transport(&dial)
	if private {
		direct.Proxy = http.ProxyFromEnvironment
		return &http.Client{Transport: direct, CheckRedirect: checkRedirect(true)}
	}
	guard := ssrf.New(ssrf.WithAnyPort())
	dial.Control = guard.Safe
	proxied := transport(&net.Dialer{Timeout: connectTimeout})
	proxied.Proxy = http.ProxyFromEnvironment
	return &http.Client{Transport: guarded{guard, direct, proxied}, CheckRedirect: checkRedirect(false)}
}

func transport(d *net.Dialer) *http.Transport {
	return &http.Transport{
		DialContext:           d.DialContext,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: answerTimeout,
		IdleConnTimeout:       30 * time.Second,
		DisableCompression:    true, // the length must be that of the file
		ForceAttemptHTTP2:     true,
	}
}

// guarded sends requests directly, or through a proxy if one is configured for their host.
type guarded struct {
	guard           *ssrf.Guardian
	direct, proxied *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := http.ProxyFromEnvironment(r)
	if err != nil {
		return nil, err
	}
	if proxy == nil {
		return g.direct.RoundTrip(r)
	}
	if ip, err := netip.ParseAddr(r.URL.Hostname()); err == nil {
		network := "tcp4"
		if ip.Is6() {
			network = "tcp6"
		}
		if err := g.guard.Safe(network, netip.AddrPortFrom(ip, 443).String(), nil); err != nil {
			return nil, err
		}
	}
	return g.proxied.RoundTrip(r)
}

// CloseIdleConnections is called by http.Client.
func (g guarded) CloseIdleConnections() {
	g.direct.CloseIdleConnections()
	g.proxied.CloseIdleConnections()
}

// checkRedirect returns the rule for redirects. The previous address is a signed link, which must
// not be revealed to the next host.
func checkRedirect(private bool) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		r.Header.Del("Referer")
		if len(via) > redirects {
			return &Error{Problem: NotAudio, Reason: fmt.Sprintf("more than %d redirects", redirects)}
		}
		err := checkURL(r.URL, private)
		if e := (*Error)(nil); errors.As(err, &e) && e.Problem == Refused { // of this answer, not of the link
			e.Problem = NotAudio
		}
		return err
	}
}

// check parses a link.
func (a *Archive) check(link string) (*url.URL, error) {
	u, err := url.Parse(link)
	if err != nil { // the error's text contains the link
		return nil, &Error{Problem: Refused, Reason: "the link is not an address"}
	}
	return u, checkURL(u, a.cfg.Private)
}

func checkURL(u *url.URL, private bool) error {
	switch {
	case u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return &Error{Problem: Refused, Reason: "the link is not a web address"}
	case isOddAddress(u.Hostname()):
		return &Error{Problem: Refused, Reason: "the link's host is a number"}
	case u.User != nil:
		return &Error{Problem: Refused, Reason: "the link has a user name or password"}
	case u.Scheme == "http" && !private:
		return barred("the link to "+u.Hostname()+" does not use TLS", nil)
	}
	return nil
}

func barred(reason string, err error) *Error {
	return &Error{Problem: Barred, Reason: reason + "; recordings_private would allow it", Err: err}
}

// isOddAddress reports whether some programs, including proxies, treat a host as an IPv4 address
// although it does not have four decimal parts: its last part is a number.
func isOddAddress(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndex(host, ".")+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil || last != "" && strings.Trim(last, "0123456789") == ""
}

// unreachable returns the error of a request without a response.
func unreachable(host string, err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	for _, prohibited := range []error{ssrf.ErrProhibitedIP, ssrf.ErrProhibitedNetwork, ssrf.ErrProhibitedPort} {
		if errors.Is(err, prohibited) {
			return barred(host+" leads to a private address", prohibited)
		}
	}
	for u := (*url.Error)(nil); errors.As(err, &u); { // the error's text contains the link
		err = u.Err
	}
	return &Error{Problem: Failed, Reason: fmt.Sprintf("%s: %v", host, err), Err: err}
}
