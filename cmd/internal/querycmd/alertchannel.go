package querycmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/alert"
	"callhouse/internal/words"
)

// headerID is the header of a webhook with the id of the message.
const headerID = "Idempotency-Key"

// forms are the bodies of the channels that post JSON: to an incoming webhook of Slack, to a workflow
// of Teams that posts Adaptive Cards, or to any address. The first two have the text of a mail.
var forms = map[string]func(*alert.Message) any{"slack": slack, "teams": teams, "webhook": payload}

// poster is a channel that posts JSON. Its errors do not contain the address, which is a secret for
// Slack and Teams.
type poster struct {
	address string
	client  *http.Client
	kind    string // of forms
}

func newPoster(address, kind string) (*poster, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("its address is not a URL")
	}
	if u.Scheme == "http" && !config.OnThisMachine(u.Hostname()) {
		return nil, errors.New("its address must begin with https")
	}
	return &poster{address, &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		kind}, nil
}

// failure matches what Slack, Teams and login pages say with status 200, without taking the message.
var failure = regexp.MustCompile(`^\s*([a-z]+(_[a-z]+)+\s*$|<)|"ok"\s*:\s*false|delivery failed`)

// Send implements alert.Channel.
func (p *poster) Send(ctx context.Context, m *alert.Message) error {
	body, _ := json.Marshal(forms[p.kind](m)) // cannot fail
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "callhouse/"+cli.Version())
	req.Header.Set(headerID, m.ID)
	text, err := send(p.client, req)
	if err == nil && p.kind != "webhook" && failure.Match(text) {
		return errors.New("it responded with status 200, but did not take the message")
	}
	return err
}

// send sends a request, and returns the text of the response. Its error never contains the address; it
// is a *alert.RefusedError if another try is useless.
func send(client *http.Client, req *http.Request) ([]byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, errors.Unwrap(err) // of a *url.Error, which repeats the address
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))                // to its end, so that the connection can be reused
	seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16) // a date counts as none
	refused := &alert.RefusedError{Status: resp.StatusCode, After: time.Duration(seconds) * time.Second}
	switch {
	case resp.StatusCode/100 == 2:
		return text, nil
	case seconds == 0 && (resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests):
		return nil, errors.New(refused.Error())
	}
	return nil, refused
}

// payload returns the body of a webhook.
func payload(m *alert.Message) any {
	body := *m
	body.Channel, body.Error = "", ""
	return struct {
		Version int    `json:"version"`
		Title   string `json:"title"`
		*alert.Message
	}{1, m.Title(), &body}
}

// slack escapes foreign names, so that they cannot create links or mentions.
func slack(m *alert.Message) any {
	safe := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "'")
	return map[string]any{"text": safe.Replace(messageText(m)), "unfurl_links": false}
}

// teams returns a message as an Adaptive Card. Text runs have no markup, so foreign names are shown
// literally.
func teams(m *alert.Message) any {
	type object map[string]any
	var body, actions []object
	for line := range strings.Lines(messageText(m)) {
		run := object{"type": "TextRun", "text": strings.TrimSpace(line), "weight": "Default"}
		if body == nil {
			run["weight"] = "Bolder"
		}
		body = append(body, object{"type": "RichTextBlock", "inlines": []object{run}})
	}
	items, _ := m.Shown()
	for i := range items {
		if link := items[i].Link; link != "" && len(actions) < 6 { // the maximum that Teams shows
			title := strings.TrimSuffix("Calls: "+words.Line(items[i].Group), ": ")
			actions = append(actions, object{"type": "Action.OpenUrl", "title": title, "url": link})
		}
	}
	card := object{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": body,
		"msteams": object{"width": "Full"}}
	if actions != nil {
		card["actions"] = actions
	}
	return object{"type": "message", "attachments": []object{
		{"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card}}}
}

// messageText returns a message as lines of text.
func messageText(m *alert.Message) string {
	var b strings.Builder
	b.WriteString(words.Line(m.Title()) + "\n")
	items, others := m.Shown()
	for i := range items {
		b.WriteString("  " + words.Line(items[i].Text(m.Event)) + "\n  " + words.Line(items[i].Command) + "\n")
		if items[i].Link != "" {
			b.WriteString("  " + words.Line(items[i].Link) + "\n")
		}
	}
	if others > 0 {
		b.WriteString("  and " + strconv.Itoa(others) + " more\n")
	}
	return b.String()
}

// stdoutChannel is a channel that writes text.
type stdoutChannel struct{ io.Writer }

// Send implements alert.Channel.
func (w stdoutChannel) Send(_ context.Context, m *alert.Message) error {
	_, err := io.WriteString(w, messageText(m))
	return err
}

// hostPort splits the address of a mail server.
func hostPort(address string, port int) (string, int, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return address, port, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, errors.New("the port of its server is not a number")
	}
	return host, int(n), nil
}
