// Package wiretest has JSON for the tests of what decodes it: the payloads in testdata,
// hostile bodies and random calls. Only tests use it.
package wiretest
