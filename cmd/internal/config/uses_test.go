package config

import (
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/test"
)

// commands type-checks the packages of the commands. Other packages are empty, so expressions of
// their types have no type.
type commands struct {
	files    *token.FileSet
	packages map[string]*types.Package
	info     types.Info
	written  map[*ast.SelectorExpr]bool
}

const module = "callhouse/"

func (c *commands) Import(name string) (*types.Package, error) {
	if p := c.packages[name]; p != nil {
		return p, nil
	}
	if !strings.HasPrefix(name, module+"cmd/") {
		p := types.NewPackage(name, path.Base(name))
		p.MarkComplete()
		c.packages[name] = p
		return p, nil
	}
	dir := filepath.Join("../../..", strings.TrimPrefix(name, module))
	listed, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var all []*ast.File
	for _, file := range listed.GoFiles {
		f, err := parser.ParseFile(c.files, filepath.Join(dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
				for _, left := range a.Lhs {
					if s, ok := left.(*ast.SelectorExpr); ok {
						c.written[s] = true
					}
				}
			}
			return true
		})
		all = append(all, f)
	}
	config := types.Config{Importer: c, Error: func(error) {}}
	p, _ := config.Check(name, c.files, all, &c.info) // names missing from the empty packages cause errors
	c.packages[name] = p
	return p, nil
}

// A setting that no command reads would be accepted without effect.
func TestEverySettingIsUsed(t *testing.T) {
	c := &commands{files: token.NewFileSet(), packages: map[string]*types.Package{}, written: map[*ast.SelectorExpr]bool{},
		info: types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}}
	for _, name := range []string{"extract", "query"} {
		if _, err := c.Import(module + "cmd/" + name); err != nil {
			t.Fatal(err)
		}
	}
	used := map[types.Object]bool{}
	for at, s := range c.info.Selections {
		dir, file := filepath.Split(c.files.Position(at.Pos()).Filename)
		if !c.written[at] && (filepath.Base(dir) != "config" || file == "apikey.go") {
			used[s.Obj()] = true
		}
	}
	values := c.packages[module+"cmd/internal/config"].Scope().Lookup("Values").Type().Underlying().(*types.Struct)
	for field := range values.Fields() {
		if !used[field] {
			t.Errorf("the setting %s is declared, and no command reads it", field.Name())
		}
	}
	if len(used) < 500 {
		t.Errorf("only %d fields and methods are used: this test does not see the code", len(used))
	}
}

// A key and a warehouse are used only with the address given for them, for all combinations of
// sources.
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
		{"address and key by flag", machine, "", "", "--base-url=http://other --api-key-file=/o", "warehouse"},
		{"address, key and warehouse by flag", machine, "", "", "--base-url=http://other --api-key-file=/o --warehouse=/ow", ""},
		{"address by flag, key in the environment", machine, "", "CALLHOUSE_API_KEY=o", "--base-url=http://other --warehouse=/ow", ""},
		{"address and key in the environment", machine, "", "CALLHOUSE_API_KEY=o CALLHOUSE_BASE_URL=http://other CALLHOUSE_WAREHOUSE=/ow", "", ""},
		{"key in the environment, for the file's address", machine, "", "CALLHOUSE_API_KEY=o", "", ""},
		{"key by flag, for the file's address", machine, "", "", "--api-key-file=/o", ""},
		{"another warehouse alone", machine, "", "", "--warehouse=/ow", ""},
		{"a key file without an address", "api_key_file = \"/k\"", "", "", "--base-url=http://other", "API key"},
		{"a warehouse without an address", "warehouse = \"/w\"", "", "CALLHOUSE_API_KEY=o", "--base-url=http://other", ""},
		{"both in the environment, and another address by flag", "", "", "CALLHOUSE_API_KEY=o CALLHOUSE_BASE_URL=http://machine", "--base-url=http://other", "API key"},
		{"a key file in the environment, and another address by flag", "", "", "CALLHOUSE_API_KEY_FILE=/k CALLHOUSE_BASE_URL=http://machine", "--base-url=http://other", "API key"},
		{"a warehouse in the environment, and another address by flag", "", "", "CALLHOUSE_WAREHOUSE=/w CALLHOUSE_BASE_URL=http://machine", "--base-url=http://other --api-key-file=/o", "warehouse"},
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
			cfg := Config{Env: env, File: f}
			test.OK(t, cfg.Take(takeFlags(t, &cfg, Extract, strings.Fields(c.args)...), Extract, c.profile))
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
