package querycmd_test

import (
	"encoding/base64"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// scattered creates ./warehouse with random calls around two months of 2024, unknown values and long names.
func scattered(t *testing.T, seed uint64, n int) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("CALLHOUSE_WAREHOUSE", "")
	r := rand.New(rand.NewPCG(seed, 8))
	pick := func(nulls float64, words ...string) any {
		if r.Float64() < nulls {
			return nil
		}
		return words[r.IntN(len(words))]
	}
	d := analyticstest.Data{Compacted: func(string) bool { return true }} // few files
	first := time.Date(2024, 10, 20, 0, 0, 0, 0, time.UTC)
	for i := range n {
		at := first.Add(time.Duration(r.IntN(14)*3*24)*time.Hour + time.Duration(r.IntN(24*3600))*time.Second).UnixMilli()
		id := fmt.Sprint("call-", i)
		c := row{"call_id": id, "start_at": at,
			"agent_id":             pick(.05, "0a7e1f60-0000-4000-8000-00000000000a", "0a7e1f60-0000-4000-8000-00000000000b", "1b7e1f60-0000-4000-8000-00000000000c", strings.Repeat("an agent with a long name ", 9), "에이전트 & <co>"),
			"status":               pick(.05, "ended", "ended", "ended", "not_connected", "ongoing", "dreaming"),
			"disconnection_reason": pick(.1, "user_hangup", "agent_hangup", "dial_no_answer", "voicemail_reached", "call_transfer", "sun & spots"),
			"user_sentiment":       pick(.2, "positive", "neutral", "neutral", "negative", "ecstatic", "furious & <bold>", "bored"),
			"settlement":           pick(0, "settled", "settled", "ended", "expired", "open"),
			"transcript_state":     pick(0, "present", "empty", "pending"),
		}
		if r.Float64() < .9 {
			c["duration_ms"] = int64(r.ExpFloat64() * 90_000)
		}
		if r.Float64() < .8 {
			c["total_cost"] = fmt.Sprintf("%d.%04d", r.IntN(300), r.IntN(10_000))
		}
		d.Calls = append(d.Calls, c)
		if r.IntN(3) == 0 {
			tool := pick(.1, "find", "book", "refund")
			d.Turns = append(d.Turns, row{"call_id": id, "turn": int64(7), "role": "tool_call_invocation", "tool_call_id": "t", "tool_name": tool, "call_start_at": at},
				row{"call_id": id, "turn": int64(8), "role": "tool_call_result", "tool_call_id": "t", "content": pick(.1, `{"ok":true}`, "error: refused"), "call_start_at": at})
		}
		for turn := range r.IntN(5) {
			begins := at + int64(turn)*4_000
			d.Turns = append(d.Turns, row{"call_id": id, "turn": int64(turn), "role": []string{"agent", "user"}[turn%2], "content": "so",
				"start_at": begins, "end_at": begins + int64(r.IntN(4_000)), "call_start_at": at})
		}
	}
	analyticstest.Write(t, "warehouse", 1, d)
}

// shownValue is a number of the page: its source and text.
type shownValue struct {
	command, column, where string
	null                   bool
	value                  string
}

// line is a row of one of the page's tables.
type line struct {
	command string
	key     string
	sum     bool
	cells   []shownValue
}

// numbers parses a page: its key figures and the rows of its tables.
func numbers(t *testing.T, text string) (figures []shownValue, lines []line) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	d.Entity = xml.HTMLEntity
	attr := func(e xml.StartElement, name string) (string, bool) {
		for _, a := range e.Attr {
			if a.Name.Local == name {
				return a.Value, true
			}
		}
		return "", false
	}
	var command string
	var heads []shownValue
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return figures, lines
		}
		test.OK(t, err)
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		class, _ := attr(e, "class")
		switch e.Name.Local {
		case "table":
			command, _ = attr(e, "data-command")
			heads = nil
		case "th":
			if column, ok := attr(e, "data-column"); ok {
				where, _ := attr(e, "data-where")
				heads = append(heads, shownValue{column: column, where: where})
			}
		case "tr":
			key, _ := attr(e, "data-key")
			lines = append(lines, line{command: command, key: key, sum: class == "sum"})
		case "td":
			if l := &lines[len(lines)-1]; command != "" {
				l.cells = append(l.cells, heads[len(l.cells)])
				l.cells[len(l.cells)-1].null = true
			}
		case "data":
			v, _ := attr(e, "value")
			if from, ok := attr(e, "data-command"); ok {
				column, _ := attr(e, "data-column")
				where, _ := attr(e, "data-where")
				figures = append(figures, shownValue{command: from, column: column, where: where, value: v})
			} else if l := lines[len(lines)-1]; len(l.cells) > 0 {
				at := &l.cells[len(l.cells)-1]
				at.value, at.null = v, false
			}
		}
	}
}

// answers runs each command that a page names once.
type answers map[string][]map[string]string

func (a answers) of(t *testing.T, command string) []map[string]string {
	t.Helper()
	if rows, ok := a[command]; ok {
		return rows
	}
	r := run(t, "", append(strings.Fields(command)[1:], "--format", "csv")...)
	if r.code != 0 {
		t.Fatalf("%s: %s", command, r)
	}
	records, err := csv.NewReader(strings.NewReader(r.out)).ReadAll()
	test.OK(t, err)
	var rows []map[string]string
	for _, rec := range records[1:] {
		m := map[string]string{"": rec[0]} // the first column, whatever its name
		for i, v := range rec {
			m[records[0][i]] = v
		}
		rows = append(rows, m)
	}
	a[command] = rows
	return rows
}

// find returns the column's value in the row with where (column=value, several joined by and).
func find(rows []map[string]string, column, where string) (string, bool) {
	for _, r := range rows {
		all := true
		for _, condition := range strings.Split(where, " and ") {
			name, v, _ := strings.Cut(condition, "=")
			all = all && (where == "" || r[name] == v)
		}
		if all {
			return r[column], true
		}
	}
	return "", false
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	test.OK(t, err)
	return n
}

var pages = longtest.Int("pages", 1, 3, "how many of the pages of TestPageEqualsTheReports are compared, from a random one on")

// Every number of the page equals the output of its command, to the last digit, and none is
// missing, for several companies, zones and periods.
func TestPageEqualsTheReports(t *testing.T) {
	longtest.Only(t)
	companies := []struct {
		seed uint64
		n    int
		args string
	}{
		{2, 300, "--since 2024-11-01 --until 2024-12-01 --tz Asia/Seoul --lang ko --currency KRW"},
		{3, 200, "--since 2024-06-01 --until 2024-12-15 --tz America/New_York --where status=ended"},
		{5, 200, "--since 2022-01-01 --until 2025-01-01 --agent 1b7e --tz Europe/Berlin"},
	}
	for i := range min(*pages, len(companies)) {
		c := companies[i]
		t.Run(fmt.Sprint(c.seed, c.args), func(t *testing.T) {
			scattered(t, c.seed, c.n)
			r := run(t, "", strings.Fields("report "+c.args)...)
			if r.code != 0 || r.stderr != "" {
				t.Fatalf("query report %s: %s", c.args, r.stderr)
			}
			figures, lines := numbers(t, r.out)
			reports := answers{}
			if len(figures) == 0 {
				t.Fatal("the page has no key figures")
			}
			for _, f := range figures {
				got, ok := find(reports.of(t, f.command), f.column, f.where)
				if !ok && (f.value == "0") { // no row means zero
					continue
				}
				if got != f.value {
					t.Errorf("%s, %s of %s: the page says %q, the report %q", f.command, f.column, f.where, f.value, got)
				}
			}
			compared := checkLines(t, reports, lines)
			if compared < 100 {
				t.Errorf("only %d numbers were compared", compared)
			}
			for _, report := range []string{"funnel", "sentiment", "disconnections", "outcomes", "costs", "agents", "coverage", "worst", "tools"} {
				found := false
				for command := range reports {
					found = found || strings.HasPrefix(command, "query "+report+" ")
				}
				ofAgents := report == "agents" && strings.Contains(c.args, "--agent") // whose page is of one
				if !found && report != "worst" && !ofAgents {                         // it may be empty
					t.Errorf("the page shows nothing of %s", report)
				}
			}
		})
	}
}

// checkLines compares the tables with the reports, and returns the number of values compared.
func checkLines(t *testing.T, reports answers, lines []line) (compared int) {
	t.Helper()
	shown := map[string]map[string]bool{}
	sums := map[string]int64{}
	summed := map[string]bool{}
	for _, l := range lines {
		if l.command == "" || len(l.cells) == 0 {
			continue
		}
		rows := reports.of(t, l.command)
		if shown[l.command] == nil {
			shown[l.command] = map[string]bool{}
		}
		shown[l.command][l.key] = true
		for _, c := range l.cells {
			if c.column == "calls" && c.where == "" {
				sums[l.command] += number(t, c.value)
			}
		}
		switch {
		case l.sum:
			summed[l.command] = true
		default:
			compared += checkLine(t, rows, l)
		}
	}
	for command, keys := range shown {
		var total int64
		for _, r := range reports[command] {
			if strings.HasPrefix(command, "query worst") {
				break
			}
			if !keys[r[""]] && !summed[command] {
				t.Errorf("%s has %q, the page does not", command, r[""])
			}
		}
		for _, r := range reports[command] {
			total += number(t, or(r["calls"], "0"))
		}
		for i, r := range reports[command] { // exactly the first five
			if strings.HasPrefix(command, "query worst") && keys[r["call_id"]] != (i < 5) {
				t.Errorf("%s has %s as number %d; on the page: %v", command, r["call_id"], i+1, keys[r["call_id"]])
			}
		}
		if sums[command] != 0 && sums[command] != total {
			t.Errorf("%s has %d calls, the page %d", command, total, sums[command])
		}
	}
	return compared
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// checkLine compares a row of a table with the report's rows of its key: one of them must match in all columns.
func checkLine(t *testing.T, rows []map[string]string, l line) (compared int) {
	t.Helper()
	var mine []map[string]string
	for _, r := range rows {
		if r[""] == l.key {
			mine = append(mine, r)
		}
	}
	plain := l.cells[0].where == ""
	for _, r := range mine {
		all := plain
		for _, c := range l.cells {
			all = all && r[c.column] == c.value
		}
		if all {
			return len(l.cells)
		}
	}
	if plain && len(mine) > 0 {
		t.Errorf("%s, %q: the page says %+v, the report %v", l.command, l.key, l.cells, mine)
		return 0
	}
	for _, c := range l.cells {
		got, ok := find(mine, c.column, c.where)
		if got != c.value || !ok && !c.null {
			t.Errorf("%s, %q, %s of %s: the page says %q, the report %q", l.command, l.key, c.column, c.where, c.value, got)
		}
		compared++
	}
	return compared
}

func TestPageErrors(t *testing.T) {
	longtest.Only(t)
	copyWarehouse(t)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"report --format csv", cli.ExitUsage, "report writes html, not csv"},
		{"report now", cli.ExitUsage, "report takes no arguments"},
		{"report --by day", cli.ExitUsage, "unknown flag: --by"},
		{"report --lang fr", cli.ExitUsage, `unknown language "fr"`},
		{"report --lang kr", cli.ExitUsage, "did you mean"},
		{"report --currency WON", cli.ExitUsage, `unknown currency "WON" (flag --currency)`},
		{"report --tz Europe/Berln", cli.ExitUsage, "Europe/Berlin"},
		{"report --since soon", cli.ExitUsage, "use a date"},
		{"report --agent 0c", cli.ExitUsage, `unknown agent "0c"`},
		{"report --since 2024-11-19T08:00 --until 2024-11-19T20:00", cli.ExitUsage, "no complete day between 2024-11-19 and 2024-11-19"},
		{"report --warehouse elsewhere", cli.ExitFailed, "no warehouse at elsewhere yet"}, {"report --warehouse /dev/null/x", cli.ExitFailed, "must name a folder"},
		{"report --output no/such/folder/x.html", cli.ExitFailed, "write no/such/folder/x.html: no such file or directory"},
		{"report --output warehouse", cli.ExitFailed, ": is a folder"},
		{"report --since 2020-01-01 --until 2020-01-03 --output none.html", cli.ExitOK, "no calls match"},
	} {
		r := run(t, "", strings.Fields(c.args)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) || r.out != "" || strings.Count(r.stderr, "\n") > 2 {
			t.Errorf("query %s: want code %d and %q:\n%s", c.args, c.code, c.want, r)
		}
	}
}

func TestPageGoldens(t *testing.T) {
	dir := goldenDir(t)
	copyWarehouse(t)
	for name, args := range map[string]string{"help-report": "report --help", "durations-steps": "durations --steps --by agent", "durations-steps-csv": "durations --steps --format csv"} {
		r := run(t, "", strings.Fields(args)...)
		test.Golden(t, filepath.Join(dir, name+".golden"), "query "+args+"\n"+r.String())
	}
}

// Currency and language are ordinary settings: the environment overrides the file, flags override
// both. Tables name the currency, exact formats do not.
func TestCurrencyAndLanguage(t *testing.T) {
	longtest.Only(t)
	copyWarehouse(t)
	plain := run(t, "", "costs", "--format", "csv")
	test.OK(t, os.WriteFile("callhouse.toml", []byte("currency = \"krw\"\nlang = \"ko\"\n"), 0o600))
	t.Setenv(config.EnvFile, "callhouse.toml")
	days := []string{"report", "--since", "2024-11-18", "--until", "2024-11-21"}
	run(t, "", days...).prints(t, 0, `<html lang="ko">`, "₩", "통화 현황")
	if r := run(t, "", "costs"); !strings.Contains(r.out, "total cost (KRW)") || !strings.Contains(r.out, "per call (KRW)") {
		t.Errorf("the table does not name the currency: %s", r)
	}
	if r := run(t, "", "costs", "--format", "csv"); r.out != plain.out {
		t.Errorf("CSV changed with the currency: %s", r)
	}
	t.Setenv("CALLHOUSE_LANG", "en")
	if r := run(t, "", append(days, "--currency", "USD")...); !strings.Contains(r.out, `<html lang="en">`) || !strings.Contains(r.out, ">$") || strings.Contains(r.out, "₩") {
		t.Errorf("neither the environment's language nor the flag's currency: %d %s %.300s", r.code, r.stderr, r.out)
	}
	t.Setenv("CALLHOUSE_CURRENCY", "money")
	run(t, "", "costs").reports(t, cli.ExitUsage, `unknown currency "money" (environment variable CALLHOUSE_CURRENCY)`)
}

// letters is a mail server that keeps the messages it receives.
type letters struct{ got [][]byte }

func (l *letters) NewSession(*smtp.Conn) (smtp.Session, error) { return l, nil }

func (*letters) Mail(string, *smtp.MailOptions) error { return nil }

func (*letters) Rcpt(string, *smtp.RcptOptions) error { return nil }

func (l *letters) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	l.got = append(l.got, raw)
	return err
}

func (*letters) Reset() {}

func (*letters) Logout() error { return nil }

// The page is mailed as an attachment to its key figures.
func TestMailedPage(t *testing.T) {
	longtest.Only(t) // TestPageGoldens and the tests of alert have the parts
	scattered(t, 5, 400)
	office := &letters{}
	s := smtp.NewServer(office)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	test.OK(t, err)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	text := "title = \"Acme\"\n[channels.morning]\ntype = \"mail\"\nserver = \"" + l.Addr().String() +
		"\"\ntls = \"none\"\nfrom = \"a@example.com\"\nto = [\"b@example.com\"]\n[channels.log]\ntype = \"stdout\"\n"
	test.OK(t, os.WriteFile("alerts.toml", []byte(text), 0o600))
	page := []string{"report", "--since", "2024-11-01", "--until", "2024-11-15"}
	mailed := append(page, "--alerts", "alerts.toml", "--mail", "morning")
	if r := run(t, "", mailed...); r.code != cli.ExitOK || r.out != "" || len(office.got) != 1 {
		t.Fatalf("%v, %d letters", r, len(office.got))
	}
	letter := strings.ReplaceAll(string(office.got[0]), "=\r\n", "") // the text is quoted-printable
	_, attached, _ := strings.Cut(letter[strings.Index(letter, "report.html"):], "\r\n\r\n")
	attached, _, _ = strings.Cut(attached, "\r\n--")
	html, err := base64.StdEncoding.DecodeString(attached)
	test.OK(t, err)
	warnings := regexp.MustCompile(`<p class="warning"><b>Note:</b> (.+?)</p>`).FindAllStringSubmatch(string(html), -1)
	for _, want := range append(warnings, []string{"", "Acme: Calls: "}, []string{"", "\r\nCalls: "}, []string{"", " =E2=86=92 "}, []string{"", "report.html"}) {
		if len(warnings) == 0 || !strings.Contains(letter, want[1]) {
			t.Errorf("the letter lacks %q:\n%.3000s", want[1], letter)
		}
	}
	for args, want := range map[string]string{
		"--mail nobody":            `unknown channel "nobody"`,
		"--mail log":               `the channel "log" is not of type mail`,
		"--mail morning -o a.html": "--mail and --output exclude each other",
	} {
		run(t, "", append(append(page, "--alerts", "alerts.toml"), strings.Fields(args)...)...).reports(t, cli.ExitUsage, want)
	}
	run(t, "", append(page, "--mail", "morning")...).reports(t, cli.ExitUsage, "no file of rules")
}
