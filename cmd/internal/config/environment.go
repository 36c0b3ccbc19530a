package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Environment is every source of settings besides the arguments: environment variables, and places
// of the configuration file. The zero value has neither. Only the programs' main functions use
// System; the demo and the tests build their own, so that they never read this machine's
// configuration.
type Environment struct {
	Vars  map[string]string
	Files []string // places of the configuration file, in order
}

// System returns the environment of this process and machine.
func System() Environment {
	files := []string{fileName}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "callhouse", fileName))
	}
	vars, all := Variables(os.Environ()), "/etc"
	if runtime.GOOS == "windows" {
		all = vars["ProgramData"]
	}
	return Environment{Vars: vars, Files: append(files, filepath.Join(all, "callhouse", fileName))}
}

// Variables parses environment variables of the form NAME=VALUE. As with os.Getenv, the first of a
// name counts.
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
