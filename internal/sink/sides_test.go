package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/calls"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire/mask"
)

// numbered is a warehouse of calls with numbers.
type numbered struct {
	*testing.T
	root, country string
	runs          int
	w             *Warehouse
}

func (x *numbered) open() {
	x.Helper()
	x.runs++
	x.w = night(x, nil, x.root, x.runs)
	x.w.opts.Country = x.country
}

// commit ends the run. The warehouse must be whole.
func (x *numbered) commit() {
	x.Helper()
	test.OK(x, x.w.Commit(x.Context(), doneRow(x.w)))
	x.whole()
}

func (x *numbered) whole() {
	x.Helper()
	wholeOn(x.T, anywhere, x.root)
	test.OK(x, x.w.Close())
}

// call puts a call of an earlier day: id, type, from, to and shown number.
func (x *numbered) call(daysAgo int, text string) {
	x.Helper()
	f := strings.Fields(text)
	start := testDay.AddDate(0, 0, -daysAgo).UnixMilli()
	end := start + 1000
	raw := body(f[0], &start, &end, "ended", "positive", 1)
	quoted := func(s string) []byte {
		if s == "-" {
			return []byte("null")
		}
		out, _ := json.Marshal(s)
		return out
	}
	for i, was := range []string{`"call_type":"phone"`, `"from_number":"1"`, `"to_number":"2"`, `"presentation_number":null`} {
		name, _, _ := strings.Cut(was, ":")
		raw = bytes.Replace(raw, []byte(was), append([]byte(name+":"), quoted(strings.ReplaceAll(f[i+1], "_", " "))...), 1)
	}
	test.OK(x, x.w.Put(context.Background(), schema.Record{Kind: schema.KindDetail, CallID: f[0], FetchedAt: end + 1, Body: raw}))
}

// own puts a number of the organisation with the days, before today, on which it begins and ends.
func (x *numbered) own(id, number string, from, to any) {
	x.Helper()
	at := func(days any) any {
		if n, ok := days.(int); ok {
			return testDay.AddDate(0, 0, -n).UnixMilli() + 1
		}
		return nil
	}
	raw, _ := json.Marshal(map[string]any{"id": id, "number": number, "provider": "vox", "status": "active",
		"start_at": at(from), "end_at": at(to), "created_at": 1, "updated_at": 1})
	rec := schema.Record{Resource: resource.Numbers.Name, Kind: schema.KindItem, CallID: id, FetchedAt: x.w.opts.Now().UnixMilli(), Body: raw}
	test.OK(x, x.w.Put(context.Background(), rec))
}

// are compares direction, from_e164, to_e164 and own_number of calls with the expected values.
func (x *numbered) are(want ...string) {
	x.Helper()
	all := readCalls(x, anywhere, x.w.Snapshot())
	text := func(c *calls.Call, column string) string {
		if t := c.Text(column); t != nil {
			return string(t)
		}
		return "-"
	}
	var got []string
	for id, c := range all {
		line := id + ":"
		for _, column := range []string{"direction", "from_e164", "to_e164", "own_number"} {
			line += " " + text(c, column)
		}
		got = append(got, line)
	}
	slices.Sort(got)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		x.Errorf("the calls are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// customers puts the whole list of customers with these identifiers.
func (x *numbered) customers(identifiers ...string) {
	x.Helper()
	put := func(r schema.Record) {
		r.Resource, r.FetchedAt = resource.Customers.Name, x.w.opts.Now().UnixMilli()
		test.OK(x, x.w.Put(context.Background(), r))
	}
	for i, list := range identifiers {
		id := fmt.Sprint("c", i)
		put(schema.Record{Kind: schema.KindItem, CallID: id, Body: fmt.Appendf(nil, `{"id":%q,"identifiers":%s}`, id, list)})
	}
	body, _ := json.Marshal(schema.Listed{Begun: x.w.opts.Now().UnixMilli() - 1, Items: int64(len(identifiers))})
	put(schema.Record{Kind: schema.KindListed, Body: body})
}

// phones compares the normal forms of the customers' numbers.
func (x *numbered) phones(want ...string) {
	x.Helper()
	var got []string
	column := resource.Customers.Table.Column("phones")
	err := x.w.reader().EachObject(resource.Customers, func(o *schema.Object) error {
		got = append(got, string(schema.TextOf(o.Row[column])))
		return nil
	})
	if err != nil || !slices.Equal(got, want) {
		x.Errorf("the customers have %q, %v, want %q", got, err, want)
	}
}

func newNumbered(t *testing.T, country string) *numbered {
	x := &numbered{T: t, root: filepath.Join(t.TempDir(), "w"), country: country}
	x.open()
	return x
}

// The direction of a call is that of its type, or follows from the organisation's numbers of its
// day, whenever these are fetched.
func TestDirection(t *testing.T) {
	x := newNumbered(t, "KR")
	x.call(5, "a in 02-111-2222 010-1234-5678 -")
	x.call(5, "b phone 010-1234-5678 0211112222 -")
	x.call(5, "c api +82211112222 01012345678 -")
	x.call(5, "d outbound 01099990000 01012345678 0211112222")
	x.call(5, "e inbound 01012345678 0299998888 -")
	x.call(5, "f web 01012345678 0211112222 -")
	x.call(5, "g phone 01012345678 anonymous -")
	x.call(5, "h phone 0211112222 0233334444 -")
	x.call(2, "i phone 01012345678 0233334444 -")
	x.call(9, "j phone 01012345678 0233334444 -")
	x.call(5, "k unknown - - 0211112222")
	x.commit()
	x.are("a: unknown +8221112222 +821012345678 -",
		"b: unknown +821012345678 +82211112222 -",
		"c: unknown +82211112222 +821012345678 -",
		"d: outbound +821099990000 +821012345678 -",
		"e: inbound +821012345678 +82299998888 -",
		"f: - +821012345678 +82211112222 -",
		"g: unknown +821012345678 - -",
		"h: unknown +82211112222 +82233334444 -",
		"i: unknown +821012345678 +82233334444 -",
		"j: unknown +821012345678 +82233334444 -",
		"k: unknown - - -")

	// The list of numbers comes after the calls, one of which is listed again.
	x.open()
	x.call(5, "b phone 010-1234-5678 0211112222 -")
	x.call(9, "j phone 01012345678 0233334444 -")
	x.own("n1", "0211112222", nil, nil)
	x.own("n2", "02-3333-4444", 7, 3)
	x.commit()
	fetched := []string{"a: unknown +8221112222 +821012345678 -",
		"b: inbound +821012345678 +82211112222 0211112222",
		"c: outbound +82211112222 +821012345678 0211112222",
		"d: outbound +821099990000 +821012345678 0211112222",
		"e: inbound +821012345678 +82299998888 -",
		"f: - +821012345678 +82211112222 -", // to a number of the organisation, but a web call
		"g: unknown +821012345678 - -",
		"h: unknown +82211112222 +82233334444 0211112222",
		"i: unknown +821012345678 +82233334444 -",
		"j: unknown +821012345678 +82233334444 -",
		"k: outbound - - 0211112222"}
	x.are(fetched...)

	// It belonged to the organisation for longer: only the files of those days are rewritten.
	x.open()
	old := x.w.Snapshot()
	x.own("n2", "02-3333-4444", 7, 2)
	x.commit()
	fetched[8] = "i: inbound +821012345678 +82233334444 02-3333-4444"
	x.are(fetched...)
	for _, f := range x.w.Snapshot().Manifest.FilesOf("calls") {
		same := f.Path == old.Manifest.FileOf("calls", f.Period).Path
		if day := testDay.AddDate(0, 0, -2).Format("2006-01-02"); same == (f.Period == day) {
			t.Errorf("%s was written anew: %t", f.Period, !same)
		}
	}

	// Nothing else changes, even when days are compacted to months.
	x.open()
	test.OK(t, compact(x.w, "2026-11"))
	x.whole()
	x.are(fetched...)
}

// One caller in four spellings has one normal form if the country of national numbers is known;
// masked or withheld numbers have none.
func TestNormalNumbers(t *testing.T) {
	longtest.Only(t)
	x := newNumbered(t, "")
	for i, spelling := range []string{"+82_10-1234-5678", "01012345678", "010-1234-5678", "tel:+82-10-1234-5678", "anonymous", "+0000"} {
		x.call(i, fmt.Sprintf("%d inbound %s 0211112222 -", i, spelling))
	}
	x.commit()
	x.are("0: inbound +821012345678 - -", "1: inbound - - -", "2: inbound - - -",
		"3: inbound +821012345678 - -", "4: inbound - - -", "5: inbound - - -")

	x.country = "KR" // set later; the other files wait for Respell
	x.open()
	x.call(0, "0 inbound +82_10-1234-5678 0211112222 -")
	x.call(0, "6 inbound 01012345678 - -")
	x.commit()
	test.Same(t, 5, x.w.Snapshot().Manifest.ReadElsewhere(), "calls read in another country")
	x.are("0: inbound +821012345678 +82211112222 -", "1: inbound - - -", "2: inbound - - -",
		"3: inbound +821012345678 - -", "4: inbound - - -", "5: inbound - - -",
		"6: inbound +821012345678 - -")
	x.country = ""
	for _, want := range []int64{5, 0} { // once set, it also applies to commands without the setting
		x.open()
		if n := x.w.NormalizePhones(context.Background()); n != want || x.w.Snapshot().Manifest.ReadElsewhere() > 0 {
			t.Errorf("%d calls were rewritten, want %d; %q", n, want, x.w.Notices())
		}
		x.whole()
		x.are("0: inbound +821012345678 +82211112222 -", "1: inbound +821012345678 +82211112222 -",
			"2: inbound +821012345678 +82211112222 -",
			"3: inbound +821012345678 +82211112222 -", "4: inbound - +82211112222 -", "5: inbound - +82211112222 -",
			"6: inbound +821012345678 - -")
	}
}

// The numbers of a customer have the same normal forms as those of calls, also when the country is
// set later; that is no change of the customer.
func TestNormalNumbersOfCustomers(t *testing.T) {
	x := newNumbered(t, "")
	list := []string{`[{"type":"phone","value":"010-1234-5678"},{"type":"phone","value":"+82 10-1234-5678"},{"type":"phone","value":"tel:+15005550006"}]`,
		`[{"type":"email","value":"+821000000000@example.com"},{"type":"external_id","value":"01087654321"},{"type":"phone","value":1087654321}]`,
		`{"type":"phone","value":"+821012345678"}`, `null`, `["+821012345678",{"value":"+821012345678"},{"type":"phone","value":["x"]},7]`}
	x.customers(list...)
	x.call(1, "a inbound 010-1234-5678 0211112222 -")
	x.commit()
	x.phones(`["010-1234-5678","+821012345678","+15005550006"]`, `["1087654321"]`, "", "", "")
	for _, country := range []string{"KR", ""} { // set once
		x.country = country
		x.open()
		x.customers(list...)
		x.commit()
		x.phones(`["+821012345678","+15005550006"]`, `["+821087654321"]`, "", "", "")
	}
	x.country = "US"
	x.open()
	if n, err := x.w.NormalizeAllPhones(context.Background(), nil); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	x.whole()
	x.phones(`["010-1234-5678","+821012345678","+15005550006"]`, `["1087654321"]`, "", "", "")
	kinds := map[string]int{}
	err := x.w.reader().EachChange(func(row schema.Row) error {
		kinds[string(schema.TextOf(row[resource.Changes.Column("kind")]))]++
		return nil
	})
	if err != nil || len(kinds) != 1 || kinds["created"] != len(list) {
		t.Errorf("changes are %v, %v", kinds, err)
	}
}

// A masked number has no normal form, and loses an earlier one.
func TestMaskedNumbersHaveNoNormalForm(t *testing.T) {
	x := newNumbered(t, "KR")
	x.own("n1", "0211112222", nil, nil)
	x.call(1, "a phone 01012345678 0211112222 -")
	x.commit()
	x.are("a: inbound +821012345678 +82211112222 0211112222")
	x.open()
	key, err := x.w.MaskKey(true)
	test.OK(t, err)
	m, err := mask.New([]string{"from_number", "to_number"}, key)
	test.OK(t, err)
	x.w.Mask(m, key)
	x.call(1, "a phone 01012345678 0211112222 -")
	x.commit()
	x.are("a: unknown - - -")
}

// A forgotten number, in any spelling, leaves no normal form behind.
func TestForgottenNumbersHaveNoNormalForm(t *testing.T) {
	x := newNumbered(t, "KR")
	x.own("n1", "0211112222", nil, nil)
	x.call(1, "a phone 010-1234-5678 0211112222 -")
	x.call(1, "b phone 01099998888 0211112222 -")
	x.commit()
	x.country = ""
	x.open()
	forms := []string{"010-1234-5678", "+821012345678"}
	if before, _ := tracesOf(t, x.root, forms...); len(before) != 2 {
		t.Errorf("before there are %v", before)
	}
	r := mustForget(t, x.w, Selection{Numbers: []string{"010 1234 5678"}}) // in the country stored in the warehouse
	if after, where := tracesOf(t, x.root, forms...); len(after) > 0 || len(r.Calls) != 1 {
		t.Errorf("left are %v; forgotten %v", where, r.Calls)
	}
	x.whole()
	x.are("b: inbound +821099998888 +82211112222 0211112222")
}
