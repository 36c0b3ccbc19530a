package querycmd

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/page"
	"callhouse/internal/analytics/question"
)

// request is a parsed request. Its parameters have the names of query's flags.
type request struct {
	typed     answer.Question
	params    question.Params
	path      string
	values    url.Values // without empty ones
	id, name  string     // of the path
	decimal   string     // sign, as of --decimal
	lang      string
	texts     *page.Texts
	zone      *time.Location
	reader    reader
	load      *load // of reader
	warehouse *analytics.Warehouse
	asOf      time.Time // reference time of ages
}

// ask parses an address. Unknown parameters are an error, because a misspelt condition must not be
// ignored.
func (s *liveServer) ask(r *http.Request) (q *request, err error) {
	if len(r.URL.RawQuery) > maxHeader {
		return nil, cli.Usage("use fewer parameters", "the address is too long")
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, cli.Usage("for example: ?since=7d&by=agent", "malformed address: %v", err)
	}
	for _, text := range append(slices.Concat(slices.Collect(maps.Values(values))...), r.URL.Path) {
		if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
			return nil, cli.Usage("encode text as UTF-8", "the address contains a zero byte or invalid UTF-8")
		}
	}
	q = &request{path: r.URL.Path, values: url.Values{}, id: r.PathValue("id"), name: r.PathValue("name"), lang: s.Settings.Lang}
	q.reader = readerOf(r)
	zone := s.Settings.TZ
	single := map[string]*string{"since": &q.typed.Since, "until": &q.typed.Until, "agent": &q.typed.Agent, "compare": &q.typed.Compare,
		"field": &q.typed.Field, "baseline": &q.typed.Baseline,
		"every": &q.typed.Every, "sort": &q.typed.Sort, "tz": &zone, "lang": &q.lang, "call": &q.params.Call,
		"decimal": &q.decimal}
	lists := map[string]*[]string{"by": &q.typed.By, "where": &q.typed.Where, "word": &q.params.Words}
	numbers := map[string]*uint32{"skip": &q.typed.Skip, "top": &q.typed.Top}
	for name, all := range values {
		all = slices.DeleteFunc(all, func(s string) bool { return s == "" }) // drop empty form fields
		if len(all) == 0 {
			continue
		}
		q.values[name] = all
		switch text, list, number := single[name], lists[name], numbers[name]; {
		case list != nil:
			*list = all
		case name == "steps":
			if q.typed.Steps, err = strconv.ParseBool(all[0]); err != nil {
				return nil, cli.Usage("use true or false", "steps is %q", all[0])
			}
		case text == nil && number == nil:
			known := []string{"by", "where", "word", "skip", "top", "steps"}
			for name := range single {
				known = append(known, name)
			}
			slices.Sort(known)
			return nil, cli.Usage(cli.Suggest(name, known, "parameters: "+strings.Join(known, ", ")), "unknown parameter %q", name)
		case len(all) > 1:
			return nil, cli.Usage("", "%s is given %d times, but takes one value", name, len(all))
		case text != nil:
			*text = all[0]
		default:
			n, err := strconv.ParseUint(all[0], 10, 32)
			if err != nil {
				return nil, cli.Usage("use a number, e.g. 100", "%s is %q", name, all[0])
			}
			*number = uint32(n)
		}
	}
	if q.texts, err = page.NewTexts(q.lang, s.Settings.Currency); err != nil {
		return nil, cli.Usage("languages: "+strings.Join(page.Languages(), ", "), "%v", err)
	}
	q.zone, err = answer.Zone(zone)
	return q, err
}

// asOf returns the reference time of ages: the snapshot's commit, so that an answer stays the same
// for a snapshot, or the current full hour if that is more than a day ago.
func asOf(warehouse *analytics.Warehouse, now time.Time) time.Time {
	at := warehouse.Snapshot().Manifest.CommittedAt.Truncate(time.Second)
	if now.Sub(at) > 24*time.Hour {
		at = now.Truncate(time.Hour)
	}
	return at
}

// resolve resolves the parameters that depend on the snapshot.
func (q *request) resolve(now time.Time) (err error) {
	call, found := q.params.Call, q.params.Words
	q.asOf = asOf(q.warehouse, now)
	q.params, err = q.typed.Params(q.zone, q.asOf)
	q.params.Call, q.params.Words = call, found
	return err
}

// address returns the link to the rows of a report, in the question's zone and language.
func (q *request) address(report string, p question.Params) string {
	v := url.Values{}
	for _, name := range []string{"tz", "lang"} {
		if q.values.Has(name) {
			v.Set(name, q.values.Get(name))
		}
	}
	if report == "call" {
		return link("/calls/"+url.PathEscape(p.Call), v)
	}
	set := func(name, text string) {
		if text != "" {
			v.Set(name, text)
		}
	}
	set("since", moment(p.Since, q.zone))
	set("until", moment(p.Until, q.zone))
	set("agent", p.Agent)
	set("field", p.Field)
	v["where"] = p.Where
	switch report {
	case "calls":
		return link("/calls", v)
	case "page":
		return link("/", v)
	}
	set("every", p.Every)
	set("baseline", p.Baseline)
	if p.Steps {
		v.Set("steps", "true")
	}
	set("by", p.By)
	if _, compares := p.Previous(); compares {
		v.Set("compare", cmp.Or(q.typed.Compare, answer.Previous))
	}
	return link("/reports/"+report, v)
}

// moment formats a bound in the shortest form that parses to the same time.
func moment(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	if day := t.In(zone); question.DayBegin(question.DayOf(t, zone), zone).Equal(t) {
		return day.Format(time.DateOnly)
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// without returns the address's values except the named ones and the page number.
func (q *request) without(names ...string) url.Values {
	v := maps.Clone(q.values)
	for _, name := range append(names, "skip") {
		v.Del(name)
	}
	return v
}

func link(path string, v url.Values) string {
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// file returns the link to the same answer in another format.
func (q *request) file(report, format string) string {
	return link(fmt.Sprintf("/reports/%s.%s", report, format), q.values)
}
