package config

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"strings"
	"testing"
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
