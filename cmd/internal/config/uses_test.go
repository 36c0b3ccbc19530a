package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/test"
)

// A setting that no command reads would be accepted without effect.
func TestEverySettingIsUsed(t *testing.T) {
	var code strings.Builder
	test.OK(t, filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") &&
			(filepath.Dir(path) != filepath.Join("..", "config") || filepath.Base(path) == "apikey.go") {
			code.Write(test.Read(t, path))
		}
		return err
	}))
	for field := range reflect.TypeFor[Values]().Fields() {
		if !regexp.MustCompile(`\w\.` + field.Name + `\b`).MatchString(code.String()) {
			t.Errorf("the setting %s is declared, and no command reads it", field.Name)
		}
	}
}

// A key is used only with the address given for it, for all combinations of sources.
func TestKeyGoesToItsAddress(t *testing.T) {
	const (
		machine  = "base_url = \"http://machine\"\napi_key_file = \"/k\"\nwarehouse = \"/w\"\n"
		profiled = "[profiles.p]\nbase_url = \"http://machine\"\napi_key_file = \"/k\"\nwarehouse = \"/w\"\n"
	)
	for _, c := range []struct {
		name, file, profile string
		env, args           string
		says                string // empty: accepted
	}{
		{"all in the file", machine, "", "", "", ""},
		{"another address by flag", machine, "", "", "--base-url=http://other", "API key"},
		{"another address by variable", machine, "", "CALLHOUSE_BASE_URL=http://other", "", "API key"},
		{"the same address by flag", machine, "", "", "--base-url=http://machine/v3/", ""},
		{"address and key by flag", machine, "", "", "--base-url=http://other --api-key-file=/o", ""},
		{"address, key and warehouse by flag", machine, "", "", "--base-url=http://other --api-key-file=/o --warehouse=/ow", ""},
		{"address by flag, key in the environment", machine, "", "CALLHOUSE_API_KEY=o", "--base-url=http://other --warehouse=/ow", ""},
		{"address and key in the environment", machine, "", "CALLHOUSE_API_KEY=o CALLHOUSE_BASE_URL=http://other CALLHOUSE_WAREHOUSE=/ow", "", ""},
		{"key in the environment, for the file's address", machine, "", "CALLHOUSE_API_KEY=o", "", ""},
		{"key by flag, for the file's address", machine, "", "", "--api-key-file=/o", ""},
		{"another warehouse alone", machine, "", "", "--warehouse=/ow", ""},
		{"a key file without an address", "api_key_file = \"/k\"", "", "", "--base-url=http://other", "API key"},
		{"both in the environment, and another address by flag", "", "", "CALLHOUSE_API_KEY=o CALLHOUSE_BASE_URL=http://machine", "--base-url=http://other", "API key"},
		{"a key file in the environment, and another address by flag", "", "", "CALLHOUSE_API_KEY_FILE=/k CALLHOUSE_BASE_URL=http://machine", "--base-url=http://other", "API key"},
		{"key in the environment, address by flag", "", "", "CALLHOUSE_API_KEY=o", "--base-url=http://other", ""},
		{"no key at all", "base_url = \"http://machine\"", "", "", "--base-url=http://other", ""},
		{"a profile", profiled, "p", "", "", ""},
		{"a profile and another address by flag", profiled, "p", "", "--base-url=http://other", "API key"},
		{"a profile and all by flag", profiled, "p", "", "--base-url=http://other --api-key-file=/o --warehouse=/ow", ""},
		{"a profile's address and the top's key", "api_key_file = \"/k\"\n[profiles.p]\nbase_url = \"http://machine\"", "p", "", "", ""},
		{"a profile's key and another address by variable", "base_url = \"http://machine\"\n[profiles.p]\napi_key_file = \"/k\"", "p", "CALLHOUSE_BASE_URL=http://other", "", "API key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := with(strings.Fields(c.env)...)
			f, err := env.Open(written(t, c.file))
			test.OK(t, err)
			cfg := Config{Env: env, File: f, Profile: c.profile}
			test.OK(t, cfg.Take(takeFlags(t, &cfg, Extract, strings.Fields(c.args)...), Extract))
			err = cfg.OneService()
			var e *cli.Error
			switch {
			case c.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.says != "" && (!errors.As(err, &e) || e.Code != cli.ExitUsage || !strings.Contains(e.Error(), "the "+c.says+" comes from ") || e.Hint == ""):
				t.Errorf("error %v, want one of wrong use about the %s", err, c.says)
			}
		})
	}
}
