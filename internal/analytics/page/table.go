package page

import "math"

// table has the numbers that a chart shows.
type table struct {
	Command command
	By      string // heading of the row names
	Heads   []head
	Rows    []line
}

// head is a column: its heading and its source, a column of the report, in the rows that Where
// selects.
type head struct {
	Text          string
	Column, Where string
	Words         bool // text, no numbers
	Prose         bool // text of several lines
	Wide          bool // hidden on a narrow page
}

// line is a row. Key is the exact text of the report's first column; Sum marks the sum of several
// rows.
type line struct {
	Name, Title, Key string
	Null, Sum        bool
	Part             bool
	Note             string // shown after the name
	Show             string // the command that shows the row's subject
	Link             string // its link on a served page
	Summary          string // of a call
	Said             []said // the last words
	Cells            []cell
}

// said is a turn of a call.
type said struct{ Who, What string }

// pick is a column of a table over bins: a report's column, in the rows whose column split has a
// given text.
type pick struct {
	text   string
	column string
	split  string // empty: the report has one row per bin
	value  string
}

// at returns the field of a bin.
func (k pick) at(key string, a *asked) field {
	where := map[string]string{a.columns[0].Name: key}
	if k.split != "" {
		where[k.split] = k.value
	}
	return field{k.column, where}
}

// series returns a pick's numbers by bin; NaN for a bin without a row.
func (a *asked) series(bins []bin, k pick) []float64 {
	out := make([]float64, len(bins))
	for i, b := range bins {
		out[i] = float(a.at(k.at(b.key, a)))
	}
	return out
}

// overBins is a table of picks with a row per bin.
func (a *asked) overBins(by string, bins []bin, picks []pick) *table {
	t := &table{Command: a.Command, By: a.l.Say("by." + by)}
	for _, k := range picks {
		h := head{Text: k.text, Column: k.column}
		if k.split != "" {
			h.Where = k.split + "=" + k.value
		}
		t.Heads = append(t.Heads, h)
	}
	for _, b := range bins {
		l := line{Name: b.name, Key: b.key, Part: b.part, Link: a.calls(map[string]string{a.columns[0].Name: b.key})}
		for _, k := range picks {
			l.Cells = append(l.Cells, a.cell(a.at(k.at(b.key, a)), k.column))
		}
		t.Rows = append(t.Rows, l)
	}
	return t
}

// withBar adds a bar for a percentage to a cell.
func (c cell) withBar(percent float64) cell {
	if !math.IsNaN(percent) {
		c.HasBar, c.Bar = true, min(max(percent, 0), 100)
	}
	return c
}

// stretch scales the bars of a column so that the longest one is full.
func (t *table) stretch(column int) {
	var longest float64
	for _, l := range t.Rows {
		longest = max(longest, l.Cells[column].Bar)
	}
	for _, l := range t.Rows {
		if longest > 0 {
			l.Cells[column].Bar *= 100 / longest
		}
	}
}
