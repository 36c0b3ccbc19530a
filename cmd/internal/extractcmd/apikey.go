package extractcmd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/crawler"
)

// credentialName is what systemd calls the API key; that of a profile ends in a
// point and its name.
const credentialName = "callhouse-api-key"

const keyHint = "put the organisation's key into " + envKey + ", or name a file that holds it with --api-key-file"

// keyPlace is where the API key is.
type keyPlace struct {
	env, file  string // one of them, or none
	credential bool   // the file is one that systemd laid down
	from       string // what says so; empty for what says so itself
}

// source names the place in messages.
func (p keyPlace) source() string {
	switch {
	case p.env != "":
		return p.env
	case p.credential:
		return "systemd credential " + filepath.Base(p.file)
	case p.file != "":
		return "file " + p.file
	}
	return ""
}

// keyPlace returns where the API key is, or nothing where nobody says. It never
// comes from an argument, which every user of the machine could read, nor from
// the configuration file.
func (s *settings) keyPlace() (keyPlace, error) {
	if err := s.file.CheckKey(s.profile); err != nil {
		return keyPlace{}, err
	}
	file, env := s.told.From("api_key_file"), s.told.From("api_key_env")
	own := config.FromDefault
	if strings.TrimSpace(os.Getenv(envKey)) != "" {
		own = config.FromEnv
	}
	best := max(file.Source, env.Source, own)
	var places []keyPlace
	if best == config.FromDefault {
		return s.credential(), nil
	}
	if own == best && s.keyEnv != envKey {
		places = append(places, keyPlace{env: envKey})
	}
	if file.Source == best && s.keyFile != "" {
		places = append(places, keyPlace{file: s.keyFile, from: file.String()})
	}
	if env.Source == best && s.keyEnv != "" {
		places = append(places, keyPlace{env: s.keyEnv, from: env.String()})
	}
	switch len(places) {
	case 0:
		return keyPlace{}, nil
	case 1:
		return places[0], nil
	}
	return keyPlace{}, cli.Usage("say one of them", "two API keys are named: %s and %s", places[0].source(), places[1].source())
}

// credential returns the key that systemd laid down for the service, if it did.
func (s *settings) credential() keyPlace {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return keyPlace{}
	}
	name := credentialName
	if s.profile != "" {
		name += "." + s.profile
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return keyPlace{}
	}
	return keyPlace{file: path, credential: true}
}

// key returns the API key and where it came from.
func (s *settings) key() (crawler.Secret, string, error) {
	p, err := s.keyPlace()
	if err != nil {
		return "", "", err
	}
	var raw string
	switch {
	case p.env != "":
		raw = os.Getenv(p.env)
		if strings.TrimSpace(raw) == "" {
			return "", "", cli.Usage("it is to hold the organisation's key", "no API key: %s is not set (%s names it)", p.env, p.from)
		}
	case p.file != "":
		raw, err = readSecret(p.file, "API key", keyHint, p.credential)
		if laid := s.credential(); err != nil && !p.credential && laid.file != "" {
			// Not as a hint: that may be about the file's owner.
			err = cli.Usage("", "%w; the %s is there, and not read, since %s names a file: take that away", err, laid.source(), p.from)
		}
		if err != nil {
			return "", "", err
		}
	case s.profile != "":
		return "", "", cli.Usage("give the profile an api_key_file or api_key_env, or systemd's service the credential "+credentialName+"."+s.profile,
			"no API key for the profile %q", s.profile)
	default:
		return "", "", cli.Usage(keyHint, "no API key: %s is not set", envKey)
	}
	raw = strings.TrimSpace(raw)
	s.secrets.Add(raw)
	return crawler.Secret(raw), p.source(), nil
}

// readSecret returns what a file holds that nobody else may read. Of those that
// systemd lays down, which it guards by their folder, others must not read it.
func readSecret(path, what, hint string, credential bool) (string, error) {
	refused := fs.FileMode(0o077)
	if credential {
		refused = 0o007
	}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", cli.Usage(hint, "no %s: there is no file %s", what, path)
	case err != nil:
		return "", cli.Usage(hint, "no %s: %w", what, err)
	case st.IsDir():
		return "", cli.Usage(hint, "no %s: %s is a folder", what, path)
	case st.Mode().Perm()&refused != 0:
		return "", cli.Usage("chmod 600 "+path, "the %s file %s can be read by others (mode %04o)", what, path, st.Mode().Perm())
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", cli.Usage(hint, "no %s: %w", what, err)
	}
	if strings.TrimSpace(string(raw)) == "" {
		return "", cli.Usage(hint, "no %s: the file %s is empty", what, path)
	}
	return string(raw), nil
}
