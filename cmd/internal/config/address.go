package config

import (
	"net/netip"
	"strings"

	"callhouse/cmd/internal/cli"
)

// OneService returns an error if the API key was configured for another address than the one in force:
// a flag or variable with another address must not send a key to a foreign host. The key belongs to
// the address set in the same place, where the environment and the flags are one, unless both have an
// address. A key from a place of higher precedence is assumed to match the address.
func (c *Config) OneService() error {
	at := c.Settings.From("base_url")
	p, err := c.KeyPlace()
	if err != nil || p.Source() == "" || p.layer == at.Source || p.layer == FromFlag || at.Source != FromEnv && at.Source != FromFlag {
		return err
	}
	own, only := c.Env.Get(keyOf("base_url").Env()), "a key of the environment is only sent to the address there, if it has one"
	if p.layer != FromEnv {
		own, _ = c.File.find(keyOf("base_url"), c.Profile, "")
		only = "a key of the file is only sent to the file's address"
	} else if own == "" {
		return nil
	}
	if ServiceOf(own) == ServiceOf(c.BaseURL) {
		return nil
	}
	from := p.Source()
	if p.from != "" {
		from += " (" + p.from + ")"
	}
	return cli.Usage(only+": give this address's key with --api-key-file, or do not override the address",
		"the API key comes from %s, but the address from %s", from, at)
}

// ServiceOf normalises an address for comparison.
func ServiceOf(address string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(address, "/"), "/v3"), "/")
}

// OnThisMachine reports whether a host, as of url.URL.Hostname, is the loopback. Every other name is
// one that a name server may answer, *.localhost included: what is sent there may leave the machine,
// and a page under it may be anyone's.
func OnThisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}
