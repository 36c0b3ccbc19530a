package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/scratch"
)

// credentialName is the systemd credential of the API key. A profile's has a dot and the profile's
// name appended.
const credentialName = "callhouse-api-key"

const keyHint = "set " + EnvKey + " to the organisation's key, or --api-key-file to a file that contains it"

// KeyPlace is where the API key is.
type KeyPlace struct {
	Env, file string // at most one is set
	Systemd   bool   // the file is a systemd credential
	from      string // the setting that names it; empty if there is none
	layer     Source // the layer of that setting
}

// Source names the place in messages.
func (p KeyPlace) Source() string {
	switch {
	case p.Env != "":
		return p.Env
	case p.Systemd:
		return "systemd credential " + filepath.Base(p.file)
	case p.file != "":
		return "file " + p.file
	}
	return ""
}

// KeyPlace returns where the API key is, or an empty place. The key is never an argument, which
// every user could read, nor in the configuration file.
func (c *Config) KeyPlace() (KeyPlace, error) {
	if err := c.File.checkKey(c.Env, c.Profile); err != nil {
		return KeyPlace{}, err
	}
	file := c.Settings.From("api_key_file")
	inEnv := strings.TrimSpace(c.Env.Get(EnvKey)) != ""
	switch {
	case file.Source == FromDefault && !inEnv:
		return c.credential(), nil
	case file.Source == FromEnv && inEnv:
		return KeyPlace{}, cli.Usage("remove one of them", "two API keys are set: %s and file %s", EnvKey, c.APIKeyFile)
	case file.Source > FromEnv || !inEnv:
		if c.APIKeyFile == "" {
			return KeyPlace{}, nil
		}
		return KeyPlace{file: c.APIKeyFile, from: file.String(), layer: file.Source}, nil
	}
	return KeyPlace{Env: EnvKey, layer: FromEnv}, nil
}

// credential returns the systemd credential, if there is one.
func (c *Config) credential() KeyPlace {
	dir := c.Env.Get("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return KeyPlace{}
	}
	name := credentialName
	if c.Profile != "" {
		name += "." + c.Profile
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return KeyPlace{}
	}
	return KeyPlace{file: path, Systemd: true, layer: FromEnv} // passed to the process like its environment
}

// APIKey returns the API key and its source.
func (c *Config) APIKey() (key, source string, err error) {
	p, err := c.KeyPlace()
	if err != nil {
		return "", "", err
	}
	var raw string
	switch {
	case p.Env != "":
		raw = c.Env.Get(p.Env)
	case p.file != "":
		raw, err = c.Env.ReadSecret(p.file, "API key", keyHint)
		if laid := c.credential(); err != nil && !p.Systemd && laid.file != "" {
			// Not in the hint, which may name the file's owner.
			err = cli.Usage("", "%w; %s exists but is not read, because %s names a file: remove that setting", err, laid.Source(), p.from)
		}
		if err != nil {
			return "", "", err
		}
	case c.Profile != "":
		return "", "", cli.Usage("set api_key_file in the profile, or pass the systemd credential "+credentialName+"."+c.Profile,
			"no API key for the profile %q", c.Profile)
	default:
		return "", "", cli.Usage(keyHint, "no API key: %s is not set", EnvKey)
	}
	return strings.TrimSpace(raw), p.Source(), nil
}

// ReadSecret reads a file that only its user may read: see [scratch.ReadSecret]. hint names another
// way to set the secret.
func (e Environment) ReadSecret(path, what, hint string) (string, error) {
	raw, err := scratch.ReadSecret(path, e.Get("CREDENTIALS_DIRECTORY"))
	var exposed *scratch.ExposedError
	switch {
	case errors.As(err, &exposed):
		advice := exposed.Hint()
		if !exposed.Ours && hint != "" {
			advice = hint + "; or " + advice
		}
		return "", cli.Usage(advice, "the %s file %w", what, err)
	case errors.Is(err, fs.ErrNotExist):
		return "", cli.Usage(hint, "no %s: the file %s does not exist", what, path)
	case err != nil:
		return "", cli.Usage(hint, "no %s: %w", what, err)
	case strings.TrimSpace(string(raw)) == "":
		return "", cli.Usage(hint, "no %s: the file %s is empty", what, path)
	}
	return string(raw), nil
}
