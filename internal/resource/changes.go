package resource

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
)

// Changes holds one row for each change of an object, in the order of discovery. Rows are only ever
// added.
var Changes = schema.NewTable("changes",
	schema.Column{ID: 1, Name: "resource", Type: schema.Word, Required: true,
		Doc: "table of the object"},
	schema.Column{ID: 2, Name: "key", Type: schema.Text, Required: true,
		Doc: "values of its key columns, joined by slashes"},
	schema.Column{ID: 3, Name: "seen_at", Type: schema.Timestamp, Required: true,
		Doc: "time of the first list with the change"},
	schema.Column{ID: 4, Name: "since_at", Type: schema.Timestamp,
		Doc: "time of the complete list before it; the object changed in between, once or several times; null: there was none"},
	schema.Column{ID: 5, Name: "run_id", Type: schema.Word, Required: true,
		Doc: "run that saw it, as in runs"},
	schema.Column{ID: 6, Name: "kind", Type: schema.Word, Required: true,
		Doc: "created, completed (its own record was fetched for the first time), changed, deleted " +
			"(no longer listed) or returned"},
	schema.Column{ID: 7, Name: "fields", Type: schema.JSON, Required: true,
		Doc: "array of the names of the columns that changed"},
	schema.Column{ID: 8, Name: "before", Type: schema.JSON,
		Doc: "object with their previous values; null for a new object"},
	schema.Column{ID: 9, Name: "after", Type: schema.JSON, Required: true,
		Doc: "object with their new values; for a new object, all values that are not null"},
)

// Change returns the row of [Changes] for a change of an object; nil if it did not change. old is
// nil for a new object. since is when the list was last complete before, ms UTC; 0: never.
func (r *Resource) Change(old, now *schema.Object, f Fetched, since int64) schema.Row {
	kind, cols := "changed", []int(nil)
	if old == nil {
		kind = "created"
		for i := range r.Table.Columns {
			if r.Compared(i) && !now.Row[i].IsNull() {
				cols = append(cols, i)
			}
		}
	} else {
		cols = r.differing(old, now)
		switch first := r.Complete(old) == 0 && r.Bare(old); {
		case r.Deleted(old):
			kind = "returned"
		case r.Deleted(now):
			kind = "deleted"
		case first && !slices.ContainsFunc(cols, r.ofItem):
			kind = "completed"
		}
	}
	if len(cols) == 0 || r.ColumnsOnly {
		return nil
	}
	row := make(schema.Row, len(Changes.Columns))
	set := func(name, text string) { row[Changes.Column(name)] = schema.TextValue([]byte(text)) }
	set("resource", r.Name)
	set("key", r.KeyOf(now.Row))
	set("run_id", f.Run)
	set("kind", kind)
	names := make([]string, len(cols))
	for i, col := range cols {
		names[i] = r.Table.Columns[col].Name
	}
	fields, _ := json.Marshal(names) // texts cannot fail
	set("fields", string(fields))
	if old != nil {
		set("before", string(r.values(old, cols)))
	}
	set("after", string(r.values(now, cols)))
	row[Changes.Column("seen_at")] = schema.InstantValue(f.At)
	if since > 0 {
		row[Changes.Column("since_at")] = schema.InstantValue(since)
	}
	return row
}

// Join merges two changes of one object that one run saw: the first when it listed the object, the
// second when it fetched the object's own record. For any other rows it returns nil.
func Join(a, b schema.Row) schema.Row {
	at := Changes.Column
	same := func(name string) bool { return bytes.Equal(a[at(name)].ByteArray(), b[at(name)].ByteArray()) }
	switch kind := string(b[at("kind")].ByteArray()); {
	case !same("resource") || !same("key") || !same("run_id"), kind != "changed" && kind != "completed":
		return nil
	}
	out := slices.Clone(a)
	var names, more []string
	if json.Unmarshal(a[at("fields")].ByteArray(), &names) != nil || json.Unmarshal(b[at("fields")].ByteArray(), &more) != nil {
		return nil
	}
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	fields, _ := json.Marshal(names) // texts cannot fail
	out[at("fields")] = schema.TextValue(fields)
	if !a[at("before")].IsNull() { // it existed before
		out[at("before")] = joined(b[at("before")], a[at("before")])
	}
	out[at("after")] = joined(a[at("after")], b[at("after")])
	return out
}

// joined merges two objects. Members of the second one win.
func joined(a, b parquet.Value) parquet.Value {
	all := map[string]json.RawMessage{}
	for _, v := range []parquet.Value{a, b} {
		if json.Unmarshal(v.ByteArray(), &all) != nil {
			return b
		}
	}
	out, _ := json.Marshal(all) // they were JSON
	return schema.TextValue(out)
}

// Edits counts the changes, except those found only by a closer look. Nil rows were joined to
// others.
func Edits(rows []schema.Row) (n int64) {
	kind := Changes.Column("kind")
	for _, row := range rows {
		if row != nil && string(schema.TextOf(row[kind])) != "completed" {
			n++
		}
	}
	return n
}

// values returns the values of some columns as a JSON object. Times are texts in UTC.
func (r *Resource) values(o *schema.Object, cols []int) []byte {
	dst := []byte{'{'}
	for i, col := range cols {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(strconv.AppendQuote(dst, r.Table.Columns[col].Name), ':')
		dst = appendValue(dst, r.Table.Columns[col].Type, o.Row[col])
	}
	return append(dst, '}')
}

func appendValue(dst []byte, t schema.Type, v parquet.Value) []byte {
	switch {
	case v.IsNull():
		return append(dst, "null"...)
	case t == schema.JSON:
		return append(dst, v.ByteArray()...)
	case t == schema.Text, t == schema.Word:
		text, _ := json.Marshal(string(v.ByteArray()))
		return append(dst, text...)
	case t == schema.Timestamp:
		return append(dst, time.UnixMicro(v.Int64()).UTC().Format(`"2006-01-02T15:04:05.000Z"`)...)
	case t == schema.Exact:
		return schema.AppendExact(dst, v, 0)
	case t == schema.Bool:
		return strconv.AppendBool(dst, v.Boolean())
	}
	return strconv.AppendInt(dst, v.Int64(), 10)
}
