package config

import (
	"os"
	"path/filepath"
	"strings"
)

// Environment is every source of settings besides the arguments: environment variables, and places
// of the configuration file. The zero value has neither. Only the programs' main functions use
// System; the demo and the tests build their own, so that they never read this machine's
// configuration.
type Environment struct {
	Vars  map[string]string
	Files []string // places of the configuration file, in order
	// The places of a user's own file and of the machine's, for extract init.
	Own, Machine string
	Root         bool // this process is root's, and may become another user's
}

// System returns the environment of this process and machine.
func System() Environment {
	e := Environment{Vars: Variables(os.Environ()), Files: []string{fileName}, Machine: filepath.Join("/etc/callhouse", fileName),
		Root: os.Geteuid() == 0}
	if dir, err := os.UserConfigDir(); err == nil {
		e.Own = filepath.Join(dir, "callhouse", fileName)
		e.Files = append(e.Files, e.Own)
	}
	e.Files = append(e.Files, e.Machine)
	return e
}

// Variables parses environment variables of the form NAME=VALUE. If a name occurs twice, the first
// one wins, as with os.Getenv.
func Variables(pairs []string) map[string]string {
	vars := map[string]string{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if _, twice := vars[name]; !twice {
			vars[name] = value
		}
	}
	return vars
}

// Get returns the value of an environment variable; empty if unset.
func (e Environment) Get(name string) string { return e.Vars[name] }

// Strings returns the environment variables for a child process.
func (e Environment) Strings() []string {
	out := []string{} // not nil, which would mean this process's own
	for name, value := range e.Vars {
		out = append(out, name+"="+value)
	}
	return out
}
