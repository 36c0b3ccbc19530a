// Package wiretest provides JSON for tests: the payloads in testdata, hostile bodies and random
// calls. Only tests use it.
package wiretest
