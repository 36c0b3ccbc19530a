package web_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// The frame has the language of the page, without any of its English words.
func TestFrameInKorean(t *testing.T) {
	s := newServer(t, 8, nil)
	english := regexp.MustCompile(`>(Overview|Calls|Agents|Reports|Search|Show|From|Before|Agent|Filter[^<]*|Time zone|default|all|\d+ days?|1 year|Download:?|Transcript|Caller|older|newer|silence[^<]*|no transcript|start|duration|outcome|summary)\b`)
	tried := longtest.Each(2)
	for i, address := range []string{"/?since=2024-11-01&lang=ko", "/calls?most=2&lang=ko", "/calls/00000003-6a1e-4ac3-8f7e-3c1f6e7f2a10?lang=ko", "/reports?lang=ko"} {
		if !tried(i) {
			continue
		}
		body := s.must(address)
		if m := english.FindString(body); m != "" {
			t.Errorf("%s has %q", address, m)
		}
		if !strings.Contains(body, `<html lang="ko">`) || !strings.Contains(body, ">에이전트</a>") {
			t.Errorf("%s is not in Korean:\n%.600s", address, body)
		}
		if with := strings.Replace(address, "lang=ko", "lang=en", 1); !english.MatchString(s.must(with)) {
			t.Errorf("%s has none of the words", with)
		}
	}
}

// The calendar links to the calls of a day, a week and a month, keeps the other conditions, and
// marks the selection.
func TestCalendar(t *testing.T) {
	s := newServer(t, 200, nil) // a call every five hours, from 15:00 in Seoul
	body := s.must("/calls?since=2024-11-11&until=2024-11-12&where=call_type%3Dinbound")
	if on := regexp.MustCompile(`<a href="[^"]*" aria-current="true">11</a>`).FindAllString(body, -1); len(on) != 1 {
		t.Errorf("the chosen day is marked as %q", on)
	}
	_, calendar, _ := strings.Cut(body, `<nav class="calendar"`)
	for _, c := range []struct{ link, since, until string }{
		{`<a href="([^"]*)">12</a>`, "2024-11-12", "2024-11-13"},
		{`<a href="([^"]*)" aria-label="week of 2024-11-11">`, "2024-11-11", "2024-11-18"},
		{`<a href="([^"]*)">2024-11</a>`, "2024-11-01", "2024-12-01"},
	} {
		all := regexp.MustCompile(c.link).FindAllStringSubmatch(calendar, -1)
		if len(all) == 0 {
			t.Fatalf("no %s in\n%s", c.link, calendar)
		}
		u, err := url.Parse(html.UnescapeString(all[len(all)-1][1])) // the last month
		test.OK(t, err)
		v := u.Query()
		if v.Get("since") != c.since || v.Get("until") != c.until || v.Get("where") != "call_type=inbound" || s.rows(u.String()) == 0 {
			t.Errorf("%s leads to %s", c.link, u)
		}
	}
	if strings.Contains(calendar, ">2</a></td><td></td><td></td><td></td><td></td><td></td><td></td>") {
		t.Error("the calendar has days that are not over yet")
	}
}

// An agent has its own page: its edits, versions, tools and worst calls, under its name.
func TestPageOfAnAgent(t *testing.T) {
	s := newServer(t, 60, nil)
	const period = "since=2024-11-01&until=2024-11-14"
	everybody := s.must("/?" + period)
	link := regexp.MustCompile(`<a href="(/\?agent=[^"]*)">Clara`).FindStringSubmatch(part(t, everybody, "agents"))
	if link == nil {
		t.Fatal("no agent leads to its page")
	}
	body := s.must(html.UnescapeString(link[1]))
	if !strings.Contains(body, "<h1>Clara &lt;b&gt;bold&lt;/b&gt;</h1>") || !strings.Contains(body, "agent: Clara &lt;b&gt;bold&lt;/b&gt; ×") || strings.Contains(body, `<section id="agents"`) {
		t.Errorf("the page of an agent begins with %.3000s", body)
	}
	for _, id := range []string{"worst", "edits", "versions", "tools"} {
		part(t, body, id)
	}
	if strings.Contains(everybody, `<section id="edits"`) {
		t.Error("the page of all agents has the edits of one")
	}
}
