// Package e2e holds the tests of the whole: extract's and query's real commands
// against a sandbox over real HTTP, with real files. It has no code of its own.
package e2e
