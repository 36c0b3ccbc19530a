package publish

import (
	"errors"
	"path/filepath"
	"testing"
)

// AWS's own catalogs are recognized by their addresses.
func TestSigningOf(t *testing.T) {
	for uri, want := range map[string]string{
		"https://glue.us-east-1.amazonaws.com/iceberg":       "glue us-east-1",
		"https://glue-fips.us-gov-west-1.api.aws/iceberg":    "glue us-gov-west-1",
		"https://s3tables.eu-west-3.amazonaws.com/iceberg":   "s3tables eu-west-3",
		"https://glue.cn-north-1.amazonaws.com.cn/iceberg":   "glue cn-north-1",
		"https://catalog.example.com/glue.us-east-1":         " ",
		"https://glue.us-east-1.amazonaws.com.example.com/a": " ",
	} {
		if name, region := signingOf(uri); name+" "+region != want {
			t.Errorf("%s: %s in %s, want %s", uri, name, region, want)
		}
	}
}

func TestWithoutCredentials(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	if _, err := newSigning("glue", "eu-west-3"); !errors.As(err, new(*UseError)) {
		t.Errorf("without credentials: %v", err)
	}
}
