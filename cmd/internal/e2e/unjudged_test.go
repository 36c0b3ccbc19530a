//go:build !judged

package e2e

import (
	"net/http"
	"testing"
)

func judged(_ testing.TB, h http.Handler) http.Handler { return h }

func reportJudged() {}
