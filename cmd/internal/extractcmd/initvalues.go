package extractcmd

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/currency"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/internal/api"
	"callhouse/internal/layout"
)

func validAddress(text string) (string, error) {
	if text == "" {
		return "", cli.Usage("give it with --base-url: the part before /v3, e.g. https://api.example.com", "no service address")
	}
	if !strings.Contains(text, "://") && !strings.ContainsAny(text, "@?# ") {
		text = "https://" + text
	}
	if err := api.CheckBaseURL(text); err != nil {
		return "", cli.Usage("use the part before /v3, e.g. https://api.example.com", "%w", err)
	}
	return config.ServiceOf(text), nil
}

func validKey(text string) error {
	cfg := api.Config{Key: api.Secret(text), PerSecond: 1, PerMinute: 1, Share: 1}
	if err := cfg.Check(); err != nil {
		return cli.Usage("paste the key of the service's dashboard", "%w", err)
	}
	return nil
}

func (i *initial) usualWarehouse() string {
	if i.Settings.Settings.From("warehouse").Source == config.FromDefault {
		return i.house
	}
	return i.Warehouse
}

// ofVolumes are names that a file system, or the system that mounts it, puts into the folder of a
// volume.
var ofVolumes = []string{"lost+found", ".snapshot", ".snapshots", ".zfs", "System Volume Information", "$RECYCLE.BIN", "#recycle",
	"@eaDir", ".DS_Store", ".Spotlight-V100", ".fseventsd", ".TemporaryItems"}

// isForeign reports whether somebody put an entry into a folder.
func isForeign(e fs.DirEntry) bool {
	return !slices.Contains(ofVolumes, e.Name()) && !strings.HasPrefix(e.Name(), ".Trash")
}

func (i *initial) validWarehouse(text string) (string, error) {
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		text = filepath.Join(i.Env.Get("HOME"), rest)
	}
	path, err := filepath.Abs(text)
	if err != nil || text == "" {
		return "", cli.Usage("for example "+i.house, "no folder for the warehouse")
	}
	entries, err := os.ReadDir(path)
	switch {
	case err == nil && !layout.IsWarehouse(path) && slices.ContainsFunc(entries, isForeign):
		return "", cli.Usage("name a new or empty folder", "%s holds other files", path)
	case err == nil && i.moved() && layout.IsWarehouse(path):
		return "", cli.Usage("a different address requires its own warehouse", "%s holds the calls of another address", path)
	case err == nil && layout.IsWarehouse(path):
		if _, err := layout.Current(path); err != nil && !errors.Is(err, layout.ErrNoWarehouse) {
			return "", settings.Explain(err)
		}
		return path, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", cli.Usage("name a folder that this user can write to", "%w", err)
	}
	if i.system {
		return path, nil
	}
	above := path
	for _, err := os.Stat(above); err != nil && above != filepath.Dir(above); _, err = os.Stat(above) {
		above = filepath.Dir(above)
	}
	probe, err := os.MkdirTemp(above, ".callhouse-")
	if err != nil {
		return "", cli.Usage("name a folder that this user can write to", "%w", err)
	}
	return path, os.Remove(probe)
}

// moved reports whether the address differs from that of the existing file.
func (i *initial) moved() bool {
	was := i.File.Value("base_url")
	return was != "" && config.ServiceOf(was) != config.ServiceOf(i.BaseURL)
}

func (i *initial) usualZone() string {
	if i.Settings.Settings.From("tz").Source == config.FromDefault {
		return zoneOf(i.Env)
	}
	return i.TZ
}

// zoneOf returns the machine's time zone; UTC if it has no name.
func zoneOf(env config.Environment) string {
	if tz := strings.TrimPrefix(env.Get("TZ"), ":"); tz != "" && !filepath.IsAbs(tz) {
		return tz
	}
	if to, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(to, "/zoneinfo/"); ok {
			return name
		}
	}
	return "UTC"
}

func validZone(text string) (string, error) {
	_, err := cli.Zone(text)
	return text, err
}

func (i *initial) usualCurrency() string {
	return cmp.Or(i.currency, i.Env.Get("CALLHOUSE_CURRENCY"), i.File.Value("currency"))
}

func validCurrency(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	unit, err := currency.ParseISO(text)
	if err != nil {
		return "", cli.Usage("use an ISO 4217 code, e.g. KRW or USD", "unknown currency %q", text)
	}
	return unit.String(), nil
}
