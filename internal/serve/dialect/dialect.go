// Package dialect turns the trees of statements that are written for Postgres into such
// as DuckDB runs.
package dialect

// Asked is a statement, and who asks it.
type Asked struct {
	User    string
	Setting func(name string) (string, bool)
	Types   []uint32 // of the parameters, as the client says
	Names   []string // set by Rewrite: what Postgres calls the columns; empty: what DuckDB calls them
}

// Rewrite changes a tree that DuckDB made of a statement.
func (a *Asked) Rewrite(tree map[string]any, at func(any) string) (bool, error) { return false, nil }
