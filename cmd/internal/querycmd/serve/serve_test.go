package serve

import (
	"crypto/tls"
	"testing"
)

// A certificate is also valid for the loopback address.
func TestEncrypted(t *testing.T) {
	for _, x := range []struct {
		address string
		tls     *tls.Config
		want    bool
	}{{"127.0.0.1:5433", nil, false}, {"127.0.0.1:5433", &tls.Config{}, true}, {"[::1]:5433", &tls.Config{}, true}, {"0.0.0.0:5433", &tls.Config{}, true}} {
		if s := (&command{postgres: x.address}).server(admitted{tls: x.tls}, nil); s.NeedTLS != x.want {
			t.Errorf("%s, certificate %t: encrypted only %t", x.address, x.tls != nil, s.NeedTLS)
		}
	}
}
