package columnar

import (
	"fmt"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
)

// SameColumns returns an error unless a file has exactly the columns of a table: their names, field
// ids and types, in their order.
func SameColumns(file *parquet.Schema, t *schema.Table) error {
	has, want := file.Fields(), ParquetSchema(t).Fields()
	for i, f := range want {
		switch {
		case i == len(has):
			return fmt.Errorf("it lacks the column %s of %s", f.Name(), t.Name)
		case !sameColumn(has[i], f):
			return fmt.Errorf("its column %d is %v, not the column %v of %s", i+1, has[i], f, t.Name)
		}
	}
	if len(has) > len(want) {
		return fmt.Errorf("its column %s is not in %s", has[len(want)].Name(), t.Name)
	}
	return nil
}

func sameColumn(a, b parquet.Field) bool {
	return a.Name() == b.Name() && a.ID() == b.ID() && a.Leaf() && a.Optional() == b.Optional() &&
		a.Repeated() == b.Repeated() && typeName(a.Type()) == typeName(b.Type())
}

// typeName returns the same name for a type whether it was declared or read from a file, where
// plain integers have an explicit logical type.
func typeName(t parquet.Type) string {
	switch s := t.String(); s {
	case "INT32":
		return "INT(32,true)"
	case "INT64":
		return "INT(64,true)"
	default:
		return s
	}
}
