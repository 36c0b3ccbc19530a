package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"regexp"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"

	"callhouse/internal/publish/store"
)

// signing signs requests for AWS (Signature Version 4): for Glue and S3 Tables.
type signing struct {
	name, region string // of the service
	who          *credentials.Credentials
}

// awsRE matches the hosts of AWS's own catalogs.
var awsRE = regexp.MustCompile(`^(glue|s3tables)(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|api\.aws)$`)

// signingOf returns the service and region for which requests to an address are signed; empty: unsigned.
func signingOf(uri string) (name, region string) {
	if u, err := url.Parse(uri); err == nil {
		if m := awsRE.FindStringSubmatch(u.Hostname()); m != nil {
			return m[1], m[2]
		}
	}
	return "", ""
}

// newSigning returns an error if there are no credentials.
func newSigning(name, region string) (*signing, error) {
	s := &signing{name, region, store.Credentials()}
	if v, err := s.who.GetWithContext(nil); err != nil || v.AccessKeyID == "" || v.SecretAccessKey == "" {
		return nil, &UseError{What: "the catalog requires signed requests, but there are no AWS credentials: set AWS_ACCESS_KEY_ID " +
			"and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"}
	}
	return s, nil
}

// RoundTrip implements http.RoundTripper.
func (s *signing) RoundTrip(r *http.Request) (*http.Response, error) {
	v, err := s.who.GetWithContext(nil)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err == nil {
			_, err = io.Copy(sum, body)
		}
		if err != nil {
			return nil, err
		}
	}
	plain := r.Clone(r.Context())
	plain.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum.Sum(nil)))
	// All services except S3 sign the path as it is sent, escaped once more.
	plain.URL.Path = r.URL.EscapedPath()
	signed := signer.SignV4WithServiceType(*plain, v.AccessKeyID, v.SecretAccessKey, v.SessionToken, s.region, s.name)
	out := r.Clone(r.Context())
	out.Header, out.URL.RawQuery = signed.Header, signed.URL.RawQuery
	return http.DefaultTransport.RoundTrip(out)
}
