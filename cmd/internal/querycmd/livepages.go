package querycmd

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/page"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
	sqlfiles "callhouse/sql"
)

const htmlType = "text/html; charset=utf-8"

//go:embed live.html live.css
var liveFiles embed.FS

var templates = template.Must(template.ParseFS(liveFiles, "live.html"))

// maxRows is the maximum number of a report's rows in a browser; files contain all rows.
const maxRows = 1000

// perPage is the number of calls per page.
const perPage = 100

// errNotThere marks an address without content.
var errNotThere = errors.New("not found")

// shared returns the parameters that all pages accept: those that select calls.
func shared(v url.Values) url.Values {
	out := url.Values{}
	for _, name := range []string{"since", "until", "agent", "where", "tz", "lang"} {
		if v.Has(name) {
			out[name] = v[name]
		}
	}
	return out
}

// only refuses parameters other than those named and the shared ones.
func (q *request) only(names ...string) error {
	left := shared(q.values)
	for _, name := range names {
		left[name] = nil
	}
	for name := range q.values {
		if _, ok := left[name]; !ok {
			return cli.Usage("remove it", "%s does not take the parameter %q", q.path, name)
		}
	}
	return nil
}

// page is the morning page with links.
func (s *liveServer) page(q *request) (*answerTo, error) {
	if err := q.only(); err != nil {
		return nil, err
	}
	ahead := len(q.values) == 0 && q.reader.rights.None()
	return &answerTo{kind: htmlType, ahead: ahead, write: func(ctx context.Context, w io.Writer) error {
		f, err := s.frame(ctx, q, "", false)
		if err != nil {
			return err
		}
		var above strings.Builder
		if err := templates.ExecuteTemplate(words.Page(&above), "above", f); err != nil {
			return err
		}
		_, err = page.Write(ctx, w, q.warehouse, page.Options{Since: q.params.Since, Until: q.params.Until,
			Agent: q.params.Agent, Where: q.params.Where,
			Texts: q.texts, Now: q.asOf, Version: cli.Version(),
			Address: q.address, Above: template.HTML("<style>" + sheet() + "</style>" + above.String())}) //nolint:gosec // our own template
		if none, ok := errors.AsType[*page.PeriodError](err); ok {
			return cli.Usage("the page needs at least one complete, fully listed day: start earlier or end later", "%v", none)
		}
		return err
	}}, nil
}

// index lists the reports.
func (s *liveServer) index(q *request) (*answerTo, error) {
	if err := q.only(); err != nil {
		return nil, err
	}
	type entry struct{ Name, Answers, Link string }
	var all []entry
	for _, f := range sqlfiles.Reports() {
		if f.Arguments == "" && analytics.May(q.reader.rights, f) == nil {
			all = append(all, entry{f.Name, f.Answers, link("/reports/"+f.Name, shared(q.values))})
		}
	}
	return &answerTo{kind: htmlType, write: func(ctx context.Context, w io.Writer) error {
		f, err := s.frame(ctx, q, q.texts.Say("frame.reports"), false)
		if err != nil {
			return err
		}
		return templates.ExecuteTemplate(words.Page(w), "index", map[string]any{"Frame": f, "Reports": all})
	}}, nil
}

// report returns a page or, with an extension as in funnel.csv, a file.
func (s *liveServer) report(q *request) (*answerTo, error) {
	name, kind, asFile := strings.Cut(q.name, ".")
	f, ok := sqlfiles.Report(name)
	if !ok || f.Arguments == "CALL_ID" && !asFile {
		return nil, cli.Fail(cli.ExitUsage, errors.Join(errNotThere, errors.New("unknown report "+strconv.Quote(name))),
			"/reports lists all reports")
	}
	allowed := f.Parameters()
	switch f.Arguments {
	case "CALL_ID":
		allowed = append(allowed, "call")
	case "WORD...":
		allowed = append(allowed, "word")
		if len(q.params.Words) == 0 {
			return nil, cli.Usage("for example: /reports/search?word=refund", "%s requires the parameter word", name)
		}
	}
	if asFile {
		allowed = append(allowed, "decimal")
	}
	if err := q.only(allowed...); err != nil {
		return nil, err
	}
	if asFile {
		return s.file(q, f, kind)
	}
	return s.table(q, f)
}

// kinds are the media types of the formats.
var kinds = map[format.Format]string{
	format.CSV: "text/csv; charset=utf-8", format.CSVExcel: "text/csv; charset=utf-8", format.JSON: "application/json",
	format.NDJSON: "application/x-ndjson", format.Markdown: "text/markdown; charset=utf-8", format.Parquet: "application/vnd.apache.parquet",
	format.Arrow: "application/vnd.apache.arrow.file", format.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// file returns a report for programs: all its rows, streamed.
func (s *liveServer) file(q *request, f *sqlfiles.File, ending string) (*answerTo, error) {
	as, ok := format.Parse(ending)
	if kinds[as] == "" || !ok {
		return nil, cli.Usage(cli.Suggest(ending, answer.FormatNames(), ""), "unknown format %q", ending)
	}
	if err := (&answer.Command{Decimal: q.decimal}).CheckDecimal(as); err != nil {
		return nil, err
	}
	people := !as.Exact()
	q.params.NamesInPlace, q.params.MarkParts, q.params.OneRow = people, true, people
	return &answerTo{kind: kinds[as], name: f.Name + "." + as.Ending(), write: func(ctx context.Context, w io.Writer) error {
		rows, err := q.ask(ctx, f)
		if err != nil {
			return err
		}
		defer rows.Close()
		var src format.Source = rows
		o := format.Options{Location: q.zone, Comma: q.decimal == ",", Title: f.Name, About: rows.About}
		if q.typed.Compare != "" && people {
			if src, o.Heading, err = q.compared(rows); err != nil {
				return err
			}
		}
		_, err = format.Write(ctx, w, as, src, o)
		return err
	}}, nil
}

// compared reduces a comparison to what people read: before, now, change and verdict, of the main figure.
func (q *request) compared(rows *analytics.Answer) (of format.Source, main string, err error) {
	if err := rows.Show(nil); err != nil {
		return nil, "", err
	}
	of, main = format.Compared(rows, q.warehouse.Sparse(rows.Params), q.zone)
	return of, main, nil
}

// ask runs a report.
func (q *request) ask(ctx context.Context, f *sqlfiles.File) (*analytics.Answer, error) {
	p := q.params
	if f.Arguments == "CALL_ID" {
		var err error
		if p.Call, p.CallStart, err = q.warehouse.FindCall(ctx, p.Call); err != nil {
			return nil, err
		}
	}
	return q.warehouse.Ask(ctx, analytics.Question{Report: f.Name, Params: p, Compare: q.typed.Compare != "", Now: q.asOf})
}

// cell is a displayed value and its link.
type cell struct {
	Text, Whole   string // Whole is the full text, if Text is abbreviated
	Link          string
	Number, Prose bool
}

// cellOf returns a value of a column, with long ids abbreviated and times without the zone, which
// the page names.
func (q *request) cellOf(v any, c value.Column) cell {
	out := cell{Text: q.texts.Cell(v, c, q.zone), Number: c.Kind.Numeric()}
	switch t, isTime := v.(time.Time); {
	case isTime:
		out.Text = t.In(q.zone).Format(time.DateTime)
	case v != nil && wordsOf[c.Name] != "":
		raw := out.Text
		if out.Text = q.texts.Word(wordsOf[c.Name], raw); out.Text != raw {
			out.Whole = raw
		}
	case c.Name == "call_id" && len(out.Text) == len("0014e571-6a1e-4ac3-8f7e-3c1f6e7f2a10"):
		out.Text, out.Whole = out.Text[:8], out.Text
	}
	out.Prose = len(out.Text) > 48
	return out
}

// wordsOf maps columns whose values are words to their sections in the translations.
var wordsOf = map[string]string{"outcome": "outcome", "disconnection_reason": "reason", "end_reason": "reason",
	"user_sentiment": "sentiment", "sentiment": "sentiment", "call_type": "type", "type": "type"}

// callColumns are the columns of the page of calls: people read the summary before the numbers.
var callColumns = []string{"call_id", "start_at", "summary", "agent_id", "outcome", "disconnection_reason", "user_sentiment", "duration_ms",
	"call_type", "from_number", "to_number"}

// table returns a report for the browser.
func (s *liveServer) table(q *request, f *sqlfiles.File) (*answerTo, error) {
	return &answerTo{kind: htmlType, write: func(ctx context.Context, w io.Writer) error {
		title, answers := heading(f.Name), f.Answers
		if q.name == "" { // the page of calls
			title, answers = q.texts.Say("frame.calls"), ""
		}
		around, err := s.frame(ctx, q, title, f.Grouped())
		if err != nil {
			return err
		}
		if of, _ := f.Pages(); of != "" && q.params.Limit == 0 && q.params.Sort == "" && q.params.Top == 0 {
			q.params.Limit = maxRows + 1 // finding all of them takes long
		}
		data := map[string]any{"Frame": around, "Answers": answers, "Text": f.Text, "Most": maxRows, "Files": q.files(f.Name)}
		q.params.NamesInPlace, q.params.MarkParts, q.params.OneRow = true, true, true
		rows, err := q.ask(ctx, f)
		if err != nil {
			return err
		}
		defer rows.Close()
		shown, exact := format.Source(rows), rows.Columns()
		if q.name == "" {
			if err := rows.Show(callColumns); err != nil {
				return err
			}
		}
		if q.typed.Compare != "" {
			var main string
			if shown, main, err = q.compared(rows); err != nil {
				return err
			}
			data["Answers"] = strings.TrimSuffix(answers+": "+main, ": ")
		}
		lines, more, err := q.lines(ctx, shown, exact, rows.Exact, f.Grouped())
		if err != nil {
			return err
		}
		columns := slices.Clone(shown.Columns())
		for i, c := range columns {
			if q.name == "" {
				columns[i].Label = q.texts.Word("facts", c.Name)
			}
		}
		data["Columns"], data["Rows"], data["More"] = columns, lines, more
		remarks, err := rows.Remarks(ctx)
		if err != nil {
			return err
		}
		remarks.Empty = "" // below the columns
		data["Remarks"] = remarks.Lines(q.zone)
		if f.Name == "calls" {
			data["Pager"] = q.pager(len(lines))
		}
		return templates.ExecuteTemplate(words.Page(w), "report", data)
	}}, nil
}

// lines reads the rows to show. A call links to its conversation; the key of a row of counts links to the counted calls.
// exactOf returns the latest row with ids in place of names, in the columns exact.
func (q *request) lines(ctx context.Context, rows format.Source, exact []value.Column, exactOf func() []any,
	counts bool) (out [][]cell, more bool, err error) {
	columns := rows.Columns()
	dimensions := map[string]string{} // by column
	groups := question.ByNames(q.params.By)
	for i, c := range exact {
		name := strings.TrimSuffix(c.Name, "_id")
		switch {
		case !counts:
		case i < len(groups):
			dimensions[c.Name] = groups[i]
		case slices.Contains(question.Dimensions(), name) && !slices.Contains(groups, name):
			dimensions[c.Name] = name
		}
	}
	for {
		row, err := rows.Values(ctx)
		if errors.Is(err, io.EOF) {
			return out, false, nil
		}
		if err != nil || len(out) == maxRows {
			return out, err == nil, err
		}
		ids, counted := map[string]string{}, q.params
		for i, v := range exactOf() {
			if i == len(exact) {
				break // names follow
			}
			id := string(value.AppendText(nil, v, q.zone))
			ids[exact[i].Name] = id
			if of := dimensions[exact[i].Name]; of != "" {
				counted = counted.Only(of, id)
			}
		}
		line := make([]cell, len(row))
		for i, c := range columns {
			line[i] = q.cellOf(row[i].Go(), c)
			id := ids[c.Name]
			switch {
			case c.Name == "call_id" && id != "":
				line[i].Link = q.address("call", question.Params{Call: id})
			case dimensions[c.Name] == "agent" && c.Name == "agent_id" && id != "": // leads to the agent's page
				agent := q.params
				agent.Agent = id
				line[i].Link = q.address("page", agent)
			case dimensions[c.Name] != "" || c.Name == "calls" && len(dimensions) > 0:
				line[i].Link = q.address("calls", counted)
			}
		}
		out = append(out, line)
	}
}

// heading capitalises a name.
func heading(name string) string {
	return string(unicode.ToUpper(rune(name[0]))) + strings.ReplaceAll(name[1:], "_", " ")
}

// files returns the links to the same answer in other formats.
func (q *request) files(report string) (out []choice) {
	for _, f := range []format.Format{format.XLSX, format.CSV, format.JSON, format.NDJSON, format.Parquet, format.Arrow} {
		out = append(out, choice{Text: string(f), Link: q.file(report, string(f))})
	}
	return out
}

// calls returns a page of calls.
func (s *liveServer) calls(q *request) (*answerTo, error) {
	if err := q.only("skip", "top"); err != nil {
		return nil, err
	}
	q.params.Limit, q.params.Top = cmp.Or(q.params.Top, perPage), 0
	f, _ := sqlfiles.Report("calls")
	return s.table(q, f)
}

// pager returns the links to earlier and later calls.
func (q *request) pager(shown int) (out []choice) {
	at := func(text string, skip int64) {
		values := q.without()
		if skip > 0 {
			values.Set("skip", strconv.FormatInt(skip, 10))
		}
		out = append(out, choice{Text: text, Link: link(q.path, values)})
	}
	if q.params.Skip > 0 {
		at(q.texts.Say("frame.newer"), max(0, q.params.Skip-q.params.Limit))
	}
	if q.params.Limit > 0 && int64(shown) == q.params.Limit {
		at(q.texts.Say("frame.older"), q.params.Skip+q.params.Limit)
	}
	return out
}

// call returns the page of one call with its transcript.
func (s *liveServer) call(q *request) (*answerTo, error) {
	if err := q.only(); err != nil {
		return nil, err
	}
	return &answerTo{kind: htmlType, write: func(ctx context.Context, w io.Writer) error {
		f, _ := sqlfiles.Report("call")
		if err := analytics.May(q.reader.rights, f); err != nil {
			return err
		}
		id, start, err := q.warehouse.FindCall(ctx, q.id)
		if unknown, ok := errors.AsType[*question.UnknownError](err); ok {
			return cli.Fail(cli.ExitUsage, errors.Join(errNotThere, unknown), "/calls lists calls")
		}
		if err != nil {
			return err
		}
		card, err := q.card(ctx, id)
		if err != nil {
			return err
		}
		if card.Frame, err = s.frame(ctx, q, cmp.Or(card.Title, id), false); err != nil {
			return err
		}
		if card.Turns, err = q.conversation(ctx, id, start); err != nil {
			return err
		}
		return templates.ExecuteTemplate(words.Page(w), "call", card)
	}}, nil
}

// style serves the style sheet of all pages.
func style(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = io.WriteString(w, page.Style()+sheet())
}

// sheet returns the styles that the morning page lacks.
func sheet() string {
	own, _ := liveFiles.ReadFile("live.css") // an embedded file can always be read
	return string(own)
}
