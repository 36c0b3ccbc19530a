package recording

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Expiry returns until when a signed link is valid, if its parameters specify it in a known form:
// that of S3, Google Cloud Storage, CloudFront or Azure.
func Expiry(link string) (until time.Time, ok bool) {
	u, err := url.Parse(link)
	if err != nil {
		return until, false
	}
	q := map[string]string{}
	for name, values := range u.Query() {
		q[strings.ToLower(name)] = values[0]
	}
	for _, by := range []string{"x-amz-", "x-goog-"} {
		from, err := time.Parse("20060102T150405Z", q[by+"date"])
		if n, nerr := strconv.ParseUint(q[by+"expires"], 10, 31); err == nil && nerr == nil {
			return from.Add(time.Duration(n) * time.Second), true
		}
	}
	for _, name := range []string{"expires", "exp", "e"} {
		switch n, err := strconv.ParseInt(q[name], 10, 64); {
		case err == nil && n > 1000*minExpiry:
			return time.UnixMilli(n), true
		case err == nil && n > minExpiry:
			return time.Unix(n, 0), true
		}
	}
	until, err = time.Parse(time.RFC3339, q["se"])
	return until, err == nil
}

// minExpiry is the year 2001 in seconds: a smaller number is not a time.
const minExpiry = 1e9
