package config

import (
	"net/netip"
	"strings"

	"callhouse/cmd/internal/cli"
)

// OneService returns an error if the API key or the warehouse was configured for another address than
// the one in force. Both belong to the address set in the same place: a flag or variable with another
// address must not send a key to a foreign host, or foreign calls into a warehouse. A key or
// warehouse from a place of higher precedence is assumed to match the address.
func (c *Config) OneService() error {
	at := c.Settings.From("base_url")
	p, err := c.KeyPlace()
	if err != nil {
		return err
	}
	if p.Source() != "" && c.elsewhere(at, p.layer, true) {
		from := p.Source()
		if p.from != "" {
			from += " (" + p.from + ")"
		}
		only := "a key of the file is only sent to the file's address"
		if p.layer == FromEnv {
			only = "a key of the environment is only sent to the address there, if it has one"
		}
		return cli.Usage(only+": give this address's key with --api-key-file, or do not override the address",
			"the API key comes from %s, but the address from %s", from, at)
	}
	if warehouse := c.Settings.From("warehouse"); c.elsewhere(at, warehouse.Source, false) {
		return cli.Usage("a different address requires its own warehouse: set --warehouse too",
			"the warehouse comes from %s, but the address from %s", warehouse, at)
	}
	return nil
}

// elsewhere reports whether the address in force, from at, replaces the one given together with a
// key or warehouse of a layer. The file is one place; the environment and the flags together are
// one, unless both have an address. needed requires an address there.
func (c *Config) elsewhere(at Origin, layer Source, needed bool) bool {
	var own string
	switch {
	case at.Source != FromEnv && at.Source != FromFlag, layer == at.Source, layer == FromDefault, layer == FromFlag:
		return false
	case layer == FromEnv:
		own, needed = c.Env.Get(keyOf("base_url").Env()), false
	default:
		own, _ = c.File.find(keyOf("base_url"), c.Profile, "")
	}
	if own == "" {
		return needed
	}
	return ServiceOf(own) != ServiceOf(c.BaseURL)
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
