package tally

import (
	"cmp"
	"maps"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/schema/decimal"
)

const (
	// A table with more rows is given up, and so is a field with more or longer values. The values
	// of such a field count as rows, because they stay in memory.
	mostItemTallies = 1 << 17
	mostFieldValues = 1 << 14
	longestValue    = 64
)

type fieldKey struct{ name, kind uint32 }

// field is a field of the custom analysis. Once it is given up, only true and false are counted.
type field struct {
	values  map[itemKey]*itemSums
	givenUp bool
}

type itemKey struct{ value, agent uint32 }

// itemSums are the numbers of a row of ItemTallies.
type itemSums struct {
	items, costed, credited int64
	cost, credits           decimal.Number
}

// fieldName is what the fields with one name have in common, whatever their types.
type fieldName struct {
	latest   int64 // the number of the last call with such an item
	repeated bool  // whether a call has several
}

// addItems counts the extracted values of a call.
func (t *Tallies) addItems(c *calls.Call) {
	if c.Items().Len() == 0 || t.givenUp[&schema.ItemTallies] {
		return
	}
	f := &t.facts
	f.analysed++
	agent, ok := f.words.id(text(c, colAgentID)), true
	for i := range c.Items().Len() {
		row := c.Items().At(i)
		of := f.fieldOf(fieldKey{f.words.id(schema.TextOf(row[colItemName])), f.words.id(schema.TextOf(row[colItemType]))})
		value := schema.TextOf(row[colItemValue])
		if len(value) > longestValue && !of.givenUp {
			of.giveUp(&f.words)
		}
		if of.givenUp && !isBool(value) {
			continue
		}
		k := itemKey{f.words.id(value), agent}
		n := of.values[k]
		if n == nil {
			n = new(itemSums)
			of.values[k] = n
			f.values++
		}
		ok = n.add(c) && ok
		if len(of.values) > mostFieldValues && !of.givenUp {
			of.giveUp(&f.words)
		}
	}
	if !ok || f.values > mostItemTallies {
		t.givenUp[&schema.ItemTallies] = true
		clear(f.byField)
	}
}

// fieldOf returns a field of the call that is being counted.
func (f *facts) fieldOf(k fieldKey) *field {
	name := f.byName[k.name]
	if name == nil {
		name = new(fieldName)
		f.byName[k.name] = name
	}
	name.repeated = name.repeated || name.latest == f.analysed
	name.latest = f.analysed
	of := f.byField[k]
	if of == nil {
		of = &field{values: map[itemKey]*itemSums{}}
		f.byField[k] = of
		f.values++
	}
	return of
}

func (of *field) giveUp(w *words) {
	of.givenUp = true
	maps.DeleteFunc(of.values, func(k itemKey, _ *itemSums) bool { return !isBool(w.texts[k.value]) })
}

func isBool(value []byte) bool { return string(value) == "true" || string(value) == "false" }

// add counts an item of a call; it returns false if a sum is too large for its column.
func (n *itemSums) add(c *calls.Call) bool {
	n.items++
	switch {
	case c.TotalCost().OK:
		n.costed++
		n.cost = n.cost.Plus(c.TotalCost().V)
	case c.InCredits():
		n.credited++
		n.credits = n.credits.Plus(c.Credits().V)
	}
	return n.cost.Within(decimal.MaxSum) && n.credits.Within(decimal.MaxSum)
}

// closeItems emits the rows of ItemTallies.
func (t *Tallies) closeItems() error {
	f := &t.facts
	type rowKey struct {
		fieldKey
		itemKey
	}
	rows := map[rowKey]*itemSums{} // nil: the field is given up
	for k, of := range f.byField {
		if of.givenUp {
			rows[rowKey{fieldKey: k}] = nil
		}
		for value, n := range of.values {
			rows[rowKey{k, value}] = n
		}
	}
	clear(f.byField)
	return handOn(t, &schema.ItemTallies, rows, func(a, b rowKey) int {
		return cmp.Or(f.words.compare(a.name, b.name), f.words.compare(a.kind, b.kind), f.words.compare(a.value, b.value),
			f.words.compare(a.agent, b.agent))
	}, func(row parquet.Row, k rowKey, n *itemSums) parquet.Row {
		repeated := parquet.BooleanValue(f.byName[k.name].repeated)
		row = append(row, f.words.value(k.name), f.words.value(k.kind), f.words.value(k.value))
		if n == nil {
			row = append(row, parquet.Value{}, parquet.Value{}, repeated)
			return append(row, make(parquet.Row, len(schema.ItemTallies.Columns)-len(row))...)
		}
		return append(row, parquet.Int64Value(n.items), f.words.value(k.agent), repeated,
			parquet.Int64Value(n.costed), parquet.Int64Value(n.credited),
			schema.ExactValue(schema.Opt[decimal.Number]{V: n.cost, OK: n.costed > 0}),
			schema.ExactValue(schema.Opt[decimal.Number]{V: n.credits, OK: n.credited > 0}))
	})
}
