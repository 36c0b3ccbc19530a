package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// AuthError means that the service refuses the key. The run stops at once.
type AuthError struct {
	Status    int    // 401 or 403
	Code      string // the service's own error code, if any
	Message   string // and its message
	KeySource string // where the key came from
}

func (e *AuthError) Error() string {
	what := "does not accept"
	if e.Status == 403 {
		what = "does not allow this with"
	}
	return fmt.Sprintf("the service %s the API key from %s (status %d%s)", what, e.KeySource, e.Status, codeText(e.Code, e.Message))
}

// UnreachableError means that there was never an answer at the service's address.
type UnreachableError struct {
	BaseURL string
	Tries   int
	Err     error
}

func (e *UnreachableError) Error() string {
	if e.Tries == 1 {
		return fmt.Sprintf("no response from %s: %v", e.BaseURL, e.Err)
	}
	return fmt.Sprintf("no response from %s (%d tries): %v", e.BaseURL, e.Tries, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

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
	return fmt.Sprintf("the certificate of %s is not trusted: %v", e.BaseURL, e.Err)
}

func (e *CertificateError) Unwrap() error { return e.Err }

// Hint returns what to do about it.
func (e *CertificateError) Hint() string {
	if e.plain() {
		return "nothing was sent. Check --base-url (CALLHOUSE_BASE_URL); http:// would send the key and the calls unencrypted"
	}
	return "nothing was sent. Check --base-url, this machine's clock, and whether a proxy responds instead of the service; " +
		"for your own authority, set SSL_CERT_FILE to its certificate"
}

// plain reports whether the server does not use TLS.
func (e *CertificateError) plain() bool { return errors.Is(e.Err, http.ErrSchemeMismatch) }

// AddressError means that the server at the base URL is not the service.
type AddressError struct {
	BaseURL string
	Path    string // the requested path
	Status  int
	Target  string // target of a redirect
	Err     error
}

func (e *AddressError) Error() string {
	switch {
	case e.Target != "":
		return fmt.Sprintf("%s redirects to %s: is the base URL right?", e.BaseURL, e.Target)
	case e.Status != 0:
		return fmt.Sprintf("%s has no %s (status %d): is the base URL right?", e.BaseURL, e.Path, e.Status)
	}
	return fmt.Sprintf("%s%s does not respond like the service: is the base URL right? %v", e.BaseURL, e.Path, e.Err)
}

func (e *AddressError) Unwrap() error { return e.Err }

// ServiceDownError means that requests failed for too long, and that the run ended. Data fetched
// before is committed.
type ServiceDownError struct {
	Failures int           // in a row; 0: the first request was refused, for a reason that the service states
	For      time.Duration // since the last good answer
	// Wait is how long the service asks to wait, if that is too long, and Until is when that ends.
	// MaxDown is the maximum time that a run continues without a good answer.
	Wait, MaxDown time.Duration
	Until         time.Time
	Err           error // the last failure
}

func (e *ServiceDownError) Error() string {
	if e.Wait > 0 {
		return fmt.Sprintf("the service requests a wait until %s (%v), longer than a run continues without a successful response (%v): %v",
			e.Until.UTC().Format("2006-01-02 15:04:05 UTC"), e.Wait.Round(time.Second), e.MaxDown, e.Err)
	}
	if e.Failures == 0 {
		return fmt.Sprintf("the service refuses %v", e.Err)
	}
	return fmt.Sprintf("the service is failing: %d consecutive requests over %v, the last with: %v",
		e.Failures, e.For.Round(time.Second), e.Err)
}

func (e *ServiceDownError) Unwrap() error { return e.Err }

// codeText appends a code and a message to the description of a failure.
func codeText(code, message string) (s string) {
	if code != "" {
		s = ", " + code
	}
	if message != "" {
		s += ": " + message
	}
	return s
}

// ClockError means that the service's clock and ours are more than a day apart. Nothing was stored.
type ClockError struct{ Ours, Theirs time.Time }

func (e *ClockError) Error() string {
	return fmt.Sprintf("this machine's clock shows %s, the service's %s: they differ by more than a day, so stored times would be wrong",
		e.Ours.UTC().Format(time.RFC3339), e.Theirs.UTC().Format(time.RFC3339))
}
