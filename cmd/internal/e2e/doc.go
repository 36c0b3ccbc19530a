// Package e2e tests whole runs: the real commands of extract and query against a sandbox over real
// HTTP, with real files. It has no code of its own.
package e2e
