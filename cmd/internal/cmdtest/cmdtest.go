// Package cmdtest isolates tests from the configuration and network of the machine. Every test
// package under cmd must call Seal or Main in TestMain; a test here checks this.
package cmdtest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"callhouse/cmd/internal/config"
	"callhouse/internal/loopback"
)

// sealed is set for child processes of a sealed test, whose environment was set by the test.
const sealed = "CALLHOUSE_TEST_SEALED"

// Seal removes all settings from the environment, gives the process its own configuration, state
// and cache folders, and blocks the network. clear removes the folders.
func Seal() (clear func()) {
	loopback.Only()
	debug.SetGCPercent(400)       // the tests use little memory; collecting even less costs more in fresh memory
	debug.SetMemoryLimit(1 << 30) // in tests of an hour, what finalizers keep until the next collection would grow with each
	if os.Getenv(sealed) != "" {
		return func() {}
	}
	users, err := os.UserCacheDir()
	if err == nil && os.Getenv("GOCACHE") == "" { // for tests that build a program
		err = os.Setenv("GOCACHE", filepath.Join(users, "go-build"))
	}
	settings, err2 := os.UserConfigDir()
	if err2 == nil && os.Getenv("GOENV") == "" {
		err2 = os.Setenv("GOENV", filepath.Join(settings, "go", "env"))
	}
	dir, err3 := os.MkdirTemp("", "callhouse-tests-")
	err = errors.Join(err, err2, err3, os.Setenv(sealed, dir))
	for name := range config.Variables(os.Environ()) {
		if name == "CREDENTIALS_DIRECTORY" || strings.HasPrefix(name, "AWS_") || slices.Contains(config.VariableNames(), name) {
			err = errors.Join(err, os.Unsetenv(name))
		}
	}
	for name, folder := range map[string]string{"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache"} {
		err = errors.Join(err, os.Setenv(name, filepath.Join(dir, folder)))
	}
	if err != nil {
		panic(err)
	}
	return func() { _ = os.RemoveAll(dir) }
}

// Main runs a package's tests in a sealed process.
func Main(m *testing.M) {
	clear := Seal()
	code := m.Run()
	clear()
	os.Exit(code)
}

// Env returns the environment of a program run within the test's process: the variables that tests
// have set, and no locations of configuration files.
func Env() config.Environment {
	if os.Getenv(sealed) == "" {
		panic("cmdtest: the package's TestMain does not call Seal")
	}
	return config.Environment{Vars: config.Variables(os.Environ())}
}

// Child returns the environment of a child process that runs the test binary under another name:
// the variables it was started with, and all locations of configuration files except the machine's.
func Child() config.Environment {
	loopback.Only()
	env := config.System()
	env.Files, env.Machine = env.Files[:len(env.Files)-1], ""
	return env
}
