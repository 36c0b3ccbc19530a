package personal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"callhouse/internal/personal/kinds"
)

// Limits of requests to an analyzer.
const (
	askTimeout  = 10 * time.Second
	maxAtOnce   = 4
	maxFailures = 3 // consecutive failures before a pause of restAfter
	restAfter   = 30 * time.Second
	maxText     = 20_000 // bytes in one request, unless one text is longer
	maxAnswer   = 8 << 20
	minScore    = 0.5
)

// Analyzer uses a service to find personal data without a structure, such as names. The service
// answers POST /analyze like Presidio's analyzer: it takes a text and a language, and returns places
// in the text, in characters, with a type and a score.
//
// The service may be slow or fail. So every request has a timeout, few are sent at once, and after
// several failures none are sent for a while. Texts without an answer return an error.
//
// It is safe for concurrent use.
type Analyzer struct {
	limitWait bool
	address   string
	http      http.Client
	slots     chan struct{}
	began     time.Time

	mu       sync.Mutex
	failures int
	until    time.Time     // no requests are sent before
	waited   time.Duration // total wait for answers
}

// place is a part of a text found by the service.
type place struct {
	from, to int // bytes
	kind     kinds.Kind
}

// Entities are the types to find, and language is that in which the service reads the texts.
var Entities = []string{"PERSON", "LOCATION"}

const language = "en"

// NewAnalyzer returns the client of the service at an address, to which /analyze is added. limitWait
// limits the time spent waiting for answers to a minute plus a quarter of the elapsed time.
func NewAnalyzer(address string, limitWait bool) (*Analyzer, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, errors.New("the address must be like http://localhost:3000, without user and password")
	}
	return &Analyzer{limitWait: limitWait, address: strings.TrimRight(address, "/") + "/analyze", slots: make(chan struct{}, maxAtOnce),
		began: time.Now(),
		http: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: maxAtOnce}, // no proxy, since it could read the texts
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// Find returns the personal data in each text. It fails if the service did not check all of them.
func (c *Analyzer) Find(texts []string) (found [][]Span, err error) {
	found = make([][]Span, len(texts))
	for from := 0; from < len(texts); {
		to, size := from, 0
		for to < len(texts) && (to == from || size+len(texts[to]) <= maxText) {
			size += len(texts[to])
			to++
		}
		places, err := c.ask(strings.Join(texts[from:to], "\n"))
		if err != nil {
			return nil, err
		}
		at := 0
		for i := from; i < to; i++ {
			found[i] = spansIn(texts[i], at, places)
			at += len(texts[i]) + 1
		}
		from = to
	}
	return found, nil
}

// replacementRE matches replacements of values that were already recognized.
var replacementRE = regexp.MustCompile(`\[[a-z][a-z_]*\]`)

// spansIn returns the spans in a text that begins at byte at of the request. They do not overlap,
// and exclude values that were already replaced.
func spansIn(text string, at int, places []place) (spans []Span) {
	var of []kinds.Kind // by byte
	for _, p := range places {
		for i := max(p.from-at, 0); i < min(p.to-at, len(text)); i++ {
			if of == nil {
				of = make([]kinds.Kind, len(text))
			}
			of[i] = p.kind
		}
	}
	if of == nil {
		return nil
	}
	for _, r := range replacementRE.FindAllStringIndex(text, -1) {
		clear(of[r[0]:r[1]])
	}
	for from := 0; from < len(text); {
		to := from + 1
		for to < len(text) && of[to] == of[from] {
			to++
		}
		part := strings.TrimSpace(text[from:to])
		if of[from] != "" && part != "" {
			begin := from + strings.Index(text[from:to], part)
			spans = append(spans, Span{From: begin, To: begin + len(part), Kind: of[from]})
		}
		from = to
	}
	return spans
}

var errResting = errors.New("the service failed recently and is not used for a moment")

// enter waits for permission to send a request.
func (c *Analyzer) enter() error {
	c.slots <- struct{}{}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case time.Now().Before(c.until):
		<-c.slots
		return errResting
	case c.limitWait && c.waited > time.Minute+time.Since(c.began)/4:
		<-c.slots
		return errors.New("the service is too slow")
	}
	return nil
}

// leave records the result of a request.
func (c *Analyzer) leave(began time.Time, failed bool) {
	<-c.slots
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waited += time.Since(began)
	if !failed {
		c.failures = 0
		return
	}
	if c.failures++; c.failures >= maxFailures {
		c.until = time.Now().Add(restAfter)
	}
}

// ask returns the places that the service finds in a text.
func (c *Analyzer) ask(text string) (places []place, err error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	began := time.Now()
	places, err = c.send(text)
	c.leave(began, err != nil)
	return places, err
}

func (c *Analyzer) send(text string) ([]place, error) {
	body, err := json.Marshal(map[string]any{"text": text, "language": language, "entities": Entities, "score_threshold": minScore})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("POST %s: %s", c.address, resp.Status)
	}
	var answer []struct {
		Type  string  `json:"entity_type"`
		Start int     `json:"start"`
		End   int     `json:"end"`
		Score float64 `json:"score"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer == nil {
		return nil, fmt.Errorf("POST %s: the answer is not a list of places", c.address)
	}
	bytesAt := make([]int, 0, len(text)+1) // by character
	for i := range text {
		bytesAt = append(bytesAt, i)
	}
	bytesAt = append(bytesAt, len(text))
	places := []place{}
	for _, a := range answer {
		if a.Start < 0 || a.End < a.Start || a.End >= len(bytesAt) {
			return nil, fmt.Errorf("POST %s: the answer has a place outside the text", c.address)
		}
		if a.Score >= minScore && slices.Contains(Entities, a.Type) {
			places = append(places, place{bytesAt[a.Start], bytesAt[a.End], kinds.Kind(strings.ToLower(a.Type))})
		}
	}
	return places, nil
}
