package web_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/longtest"
	sqlfiles "callhouse/sql"
)

// without returns a page without the words of its own address, which the page repeats.
func without(body, address string) string {
	u, _ := url.Parse(address)
	for _, all := range u.Query() {
		for _, v := range all {
			body = strings.ReplaceAll(body, v, "")
			_, v, _ = strings.Cut(v, "=")
			if strings.Contains(v, analyticstest.Secret) {
				body = strings.ReplaceAll(body, v, "")
			}
		}
	}
	return strings.ReplaceAll(body, strings.TrimPrefix(u.Path, "/calls/"), "")
}

// No address reveals another user's row to a reader with limits, even right after it was answered
// for someone else.
func TestOthersRows(t *testing.T) {
	of := map[string]rights.Rights{"boss": {}, "agency": {Agents: []string{"own"}}, "costs": {Tables: []string{"costs"}},
		"masked": {Masked: []string{"from_number", "to_number", "content", "summary", "metadata", "value", "arguments", "tool_name", "user_sentiment", "agent_id"}}}
	s := serverOf(t, analyticstest.Agencies(), func(_ context.Context, user, _, _ string) (rights.Rights, bool, error) {
		r, ok := of[user]
		return r, ok, nil
	})
	get := func(user, address string, header ...string) (*http.Response, string) {
		t.Helper()
		return s.get(address, append(header, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":x")))...)
	}
	// A reader who sees everything except masked columns still sees the ids of calls, and the names
	// of fields, of reasons, and of things other than calls.
	const span = "since=2025-10-01&until=2025-10-20"
	own := []string{"/?" + span, "/?agent=own&" + span, "/calls?" + span, "/calls/mine-0", "/calls?agent=own", "/reports/calls.csv?where=metadata.k=mine+0", "/reports/search.csv?word=mine", "/reports/call.json?call=mine-0"}
	others := []string{"/calls/SECRET-1", "/calls/SEC", "/?agent=SECRET-agent&" + span, "/calls?agent=SEC", "/reports/call.csv?call=SECRET-1", "/reports/search.csv?word=SEC", "/reports/search.json?word=1",
		"/reports/calls.ndjson?where=metadata.k=SECRET+1", "/reports/calls.csv?where=agent=SECRET-agent", "/reports/funnel.csv?by=agent", "/reports/funnel.csv?by=campaign", "/reports/funnel.csv?by=number", "/reports/funnel.csv?by=agent_type",
		"/reports/funnel?by=metadata.k", "/reports/success.csv?field=SECRET+1=SECRET", "/reports/success.csv?field=x=y", "/calls?most=1&skip=1", "/reports/funnel.csv?by=user_sentiment&compare=previous&" + span}
	for _, f := range sqlfiles.Reports() {
		if f.Arguments == "" {
			others = append(others, "/reports/"+f.Name, "/reports/"+f.Name+".csv", "/reports/"+f.Name+".json?by=agent&"+span)
		}
	}
	tells, asked, tried := 0, 0, longtest.Each(40)
	for i, address := range slices.Concat(own, others) {
		if !tried(i) {
			continue
		}
		asked++
		first, whole := get("boss", address)
		if strings.Contains(whole, analyticstest.Secret) {
			tells++
		}
		resp, body := get("agency", address, "If-None-Match", first.Header.Get("ETag"))
		if strings.Contains(without(body, address), analyticstest.Secret) {
			t.Errorf("%s tells an agency (%s): %.300s", address, resp.Status, body)
		}
		if resp.StatusCode == http.StatusNotModified || first.Header.Get("ETag") != "" && first.Header.Get("ETag") == resp.Header.Get("ETag") {
			t.Errorf("%s is the same answer for both", address)
		}
		if slices.Contains(own, address) && resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s for an agency: %s", address, resp.Status, body)
		}
		if resp, body := get("costs", address); resp.StatusCode == http.StatusOK && address != "/reports" {
			t.Errorf("%s is answered for who may see costs alone: %.200s", address, body)
		}
	}
	if tells < asked/4 {
		t.Errorf("of %d addresses %d tell of others where they may", asked, tells)
	}
	for address, want := range map[string]int{"/calls/SECRET-1": 404, "/reports/changes": 403, "/reports/lines.csv": 403, "/reports/funnel.csv?by=number": 403, "/reports/funnel.csv?by=campaign": 200, "/calls?agent=SECRET-agent": 400} {
		if resp, body := get("agency", address); resp.StatusCode != want {
			t.Errorf("%s: %s, want %d: %s", address, resp.Status, want, body)
		}
	}
	if _, body := get("agency", "/reports"); strings.Contains(body, "incidents") || !strings.Contains(body, "funnel") {
		t.Errorf("the list of the reports of an agency: %s", body)
	}
	// Its page links to other reports, but to none that it may not read.
	if _, body := get("agency", "/?"+span); strings.Contains(body, "/reports/lines") || !strings.Contains(body, "/reports/attempts") {
		t.Error("the page of an agency leads to a report that is closed to it, or to none")
	}
	// Masked values are in no file, and no word or condition finds them.
	for _, address := range []string{"/reports/search.csv?word=SECRET", "/reports/funnel.csv?by=metadata.k", "/reports/sentiment.csv", "/reports/tools.csv", "/reports/callers.csv"} {
		if resp, body := get("masked", address); strings.Contains(strings.ReplaceAll(body, "SECRET-", ""), analyticstest.Secret) || resp.StatusCode != http.StatusOK {
			t.Errorf("%s tells what is masked (%s): %s", address, resp.Status, body)
		}
	}
	if _, body := get("masked", "/calls/SECRET-1"); strings.Contains(body, "SECRET 1") {
		t.Errorf("the page of a call tells what is masked: %s", body)
	}
}
