package page

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// Facts about the whole warehouse are under its name and not under a day, none is truncated, and a
// bound reads as a share.
func TestFactsOfTheWarehouse(t *testing.T) {
	at := instant(t, "2026-11-20T10:00:00Z").UnixMilli()
	d := analyticstest.Data{
		Calls: []row{{"call_id": "c1", "status": "ended", "start_at": at, "duration_ms": int64(61_000)}},
		Runs: []row{{"run_id": "r1", "started_at": at, "calls_set_aside": int64(3), "total_count": int64(6860),
			"bulk_transcripts": int64(6857), "bulk_compared": int64(34), "bulk_differing": int64(0), "bulk_unverified": int64(6757),
			"redacted": `{"phone":1204,"card":31,"member":7,"unchecked":2}`}},
		Coverage: []schema.Span{{From: 0, To: instant(t, "2026-11-21T02:10:00Z").UnixMilli()}},
	}
	tried := longtest.Each(2)
	for i, lang := range []string{"en", "ko"} {
		if !tried(i) {
			continue
		}
		heading := []string{"calls of the whole warehouse", "웨어하우스 전체 통화"}[i]
		_, text := made(t, d, Options{Now: instant(t, "2026-11-21T06:00:00Z"), Lang: lang})
		if bad := regexp.MustCompile(`[^>]{0,20}(%!|NOVERB|579).{0,40}`).FindString(text); bad != "" {
			t.Errorf("%s: the page has %q", lang, bad)
		}
		section := text[strings.Index(text, `id="coverage"`):]
		at := strings.Index(section, heading)
		if at < 0 {
			t.Fatalf("%s: no board for the warehouse", lang)
		}
		l, err := newLang(lang, "")
		test.OK(t, err)
		for _, fact := range []string{"set aside by the last run", "counted by the service", "transcript from a page of v2", "page of v2 compared with v3",
			"transcript of v2 that differed", "transcript of v2 that may differ, at most"} {
			name := html.EscapeString(l.Say("fact." + fact))
			if strings.Contains(section[:at], name) || !strings.Contains(section[at:], name) {
				t.Errorf("%s: %q does not stand under %q", lang, name, heading)
			}
		}
		for _, redacted := range [][]string{{"personal data redacted by the last run: phone numbers", "마지막 실행에서 가린 개인정보: 전화번호", "1,204"},
			{"redacted by the last run: payment cards", "가린 개인정보: 카드번호", "31"}, {"redacted by the last run: member", "가린 개인정보: member", "7"},
			{"redacted by the last run: not checked", "가린 개인정보: 확인하지 못한 기록", "2"}} {
			if _, row, ok := strings.Cut(section[at:], redacted[i]); !ok || !strings.Contains(row[:strings.Index(row, "</tr>")], ">"+redacted[2]+"<") {
				t.Errorf("%s: %q is not shown", lang, redacted[i])
			}
		}
		if !strings.Contains(section[at:], "8.4%") {
			t.Errorf("%s: no bound of 1 - 0.05^(1/34) = 8.4 %%", lang)
		}
	}
}
