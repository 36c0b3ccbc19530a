package config

import (
	"errors"
	"io/fs"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/scratch"
)

const keyHint = "set " + EnvKey + " to the organisation's key, or --api-key-file to a file that contains it"

// KeyPlace is where the API key is.
type KeyPlace struct {
	Env, file string // at most one is set
	from      string // the setting that names the file
	layer     Source // the layer of that setting
}

// Source names the place in messages.
func (p KeyPlace) Source() string {
	switch {
	case p.Env != "":
		return p.Env
	case p.file != "":
		return "file " + p.file
	}
	return ""
}

// KeyPlace returns where the API key is, or an empty place. The key is never an argument, which
// every user could read, nor in the configuration file.
func (c *Config) KeyPlace() (KeyPlace, error) {
	file := c.Settings.From("api_key_file")
	inEnv := strings.TrimSpace(c.Env.Get(EnvKey)) != ""
	switch {
	case file.Source == FromEnv && inEnv:
		return KeyPlace{}, cli.Usage("remove one of them", "two API keys are set: %s and file %s", EnvKey, c.APIKeyFile)
	case inEnv && file.Source < FromEnv:
		return KeyPlace{Env: EnvKey, layer: FromEnv}, nil
	case c.APIKeyFile == "":
		return KeyPlace{}, nil
	}
	return KeyPlace{file: c.APIKeyFile, from: file.String(), layer: file.Source}, nil
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
		if raw = c.keys[p.file]; raw != "" {
			break
		}
		if raw, err = c.Env.ReadSecret(p.file, "API key", keyHint); err != nil {
			return "", "", err
		}
	case c.Profile != "":
		return "", "", cli.Usage("set api_key_file in the profile", "no API key for the profile %q", c.Profile)
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
