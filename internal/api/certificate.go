package api

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// CertificateError means that a server answers at the service's address, but no secure connection
// to it is possible. Nothing was sent.
type CertificateError struct {
	BaseURL string
	Err     error
}

func (e *CertificateError) Error() string {
	if e.plain() {
		return fmt.Sprintf("%s serves http, not https", e.BaseURL)
	}
	return fmt.Sprintf("the certificate of %s %s", e.BaseURL, e.problem())
}

func (e *CertificateError) Unwrap() error { return e.Err }

// Hint returns what to do about it.
func (e *CertificateError) Hint() string {
	switch {
	case e.plain():
		return "nothing was sent. Check --base-url (CALLHOUSE_BASE_URL); http:// would send the key and the calls unencrypted"
	case e.outdated():
		return "nothing was sent. The service must renew it, or this machine's clock is wrong"
	case e.foreign():
		return "nothing was sent. Check --base-url (CALLHOUSE_BASE_URL), and whether a proxy responds instead of the service"
	}
	return "nothing was sent. A proxy may respond instead of the service; for your own authority, set SSL_CERT_FILE to its certificate"
}

// plain reports whether the server does not use TLS.
func (e *CertificateError) plain() bool { return errors.Is(e.Err, http.ErrSchemeMismatch) }

// outdated reports whether the certificate is not valid at the current time of this machine's
// clock.
func (e *CertificateError) outdated() bool {
	invalid, ok := errors.AsType[x509.CertificateInvalidError](e.Err)
	return ok && invalid.Reason == x509.Expired
}

// foreign reports whether the certificate is for another host.
func (e *CertificateError) foreign() bool {
	_, ok := errors.AsType[x509.HostnameError](e.Err)
	return ok
}

// problem describes the fault of the certificate.
func (e *CertificateError) problem() string {
	invalid, _ := errors.AsType[x509.CertificateInvalidError](e.Err)
	foreign, _ := errors.AsType[x509.HostnameError](e.Err)
	unknown, _ := errors.AsType[x509.UnknownAuthorityError](e.Err)
	switch now := time.Now(); {
	case e.outdated() && now.Before(invalid.Cert.NotBefore):
		return fmt.Sprintf("is valid only from %s, but this machine's clock shows %s", day(invalid.Cert.NotBefore), day(now))
	case e.outdated():
		return fmt.Sprintf("expired on %s; this machine's clock shows %s", day(invalid.Cert.NotAfter), day(now))
	case e.foreign():
		return fmt.Sprintf("is for %s, not for %s", hostsOf(foreign.Certificate), foreign.Host)
	case unknown.Cert != nil:
		issuer := unknown.Cert.Issuer
		return fmt.Sprintf("is signed by %q, which this machine does not trust", cmp.Or(issuer.CommonName, issuer.String()))
	}
	return fmt.Sprintf("cannot be verified: %v", e.Err)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// hostsOf names the hosts of a certificate; of many, only the first.
func hostsOf(c *x509.Certificate) string {
	names := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, net.IP.String(ip))
	}
	const most = 3
	switch {
	case len(names) == 0:
		return "no host"
	case len(names) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
