package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sync"
	"unsafe"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"callhouse/internal/analytics/value"
	"callhouse/internal/postgres"
	"callhouse/internal/postgres/cell"
	"callhouse/internal/serve/dialect"
)

// Limits of the cache of a house. BI tools repeat statements and a snapshot never changes, so a
// repeated statement gets the cached columns and rows.
const (
	mostPlans   = 1000     // cached plans
	mostAnswers = 32 << 20 // bytes of all cached rows
	mostAnswer  = 4 << 20  // bytes of one statement's rows
	mostText    = 16 << 10 // bytes of the text of a cached statement
)

// memory is safe for concurrent use.
type memory struct {
	plans *lru.Cache[string, *plan]

	mu      sync.Mutex
	answers *simplelru.LRU[string, *kept]
	bytes   int // of cached rows
}

func newMemory() *memory {
	m := new(memory)
	m.plans, _ = lru.New[string, *plan](mostPlans) // fails only for sizes below 1
	m.answers, _ = simplelru.NewLRU(mostAnswers, func(_ string, k *kept) { m.bytes -= k.bytes })
	return m
}

// plan is the description of a statement before it runs.
type plan struct {
	columns []postgres.Column
	params  []cell.Type
	guess   dialect.Guess
	found   []string
}

// kept holds a statement's cached rows.
type kept struct {
	columns []value.Column
	rows    [][]value.Value
	bytes   int
}

// passingRE matches text that makes a statement's result change: volatile functions, words for the
// current time, and tables of the catalog.
var passingRE = regexp.MustCompile(`(?i)\b(now|today|tomorrow|yesterday|random|setseed|ago|age|timeofday|nextval|currval|stats|error|sleep_ms|` +
	`user|session_user|` +
	`getvariable|get_current_\w+|in_search_path|write_log|` +
	`query|sample|tablesample|localtime|localtimestamp|information_schema|` +
	`\w*uuid\w*|inet_\w*|txid_\w*|pg_\w*|current_\w*|\w+_timestamp|set_config|explain)\b`)

// passes reports whether a repeated statement may have another result.
func passes(text string, args []any) bool {
	return passingRE.MatchString(text) || slices.ContainsFunc(args, func(a any) bool {
		s, ok := a.(string)
		return ok && passingRE.MatchString(s)
	})
}

// answer returns the cached rows of a statement; nil: none.
func (m *memory) answer(key string) *kept {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, _ := m.answers.Get(key)
	return k
}

func (m *memory) keepAnswer(key string, k *kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k.bytes += len(key)
	m.answers.Remove(key)
	m.answers.Add(key, k)
	for m.bytes += k.bytes; m.bytes > mostAnswers; {
		m.answers.RemoveOldest()
	}
}

// key is the cache key of the statement's plan.
func (st *statement) key() string { return fmt.Sprint(st.s.zone, st.types, st.text) }

// answerKey is the cache key of its result with these values; empty: not cached.
func (st *statement) answerKey(args []any) string {
	if len(st.text) > mostText || passes(st.text, args) {
		return ""
	}
	key := st.key()
	for _, a := range args {
		key += fmt.Sprintf("\x00%T %v", a, a)
	}
	return key
}

// keptRows returns cached rows.
type keptRows struct {
	*kept
	at int
}

// Values implements postgres.Rows.
func (r *keptRows) Values(context.Context) ([]value.Value, error) {
	if r.at == len(r.rows) {
		return nil, io.EOF
	}
	r.at++
	return r.rows[r.at-1], nil
}

// Close implements postgres.Rows.
func (r *keptRows) Close() {}

// keeping reads rows and caches them unless they are too many.
type keeping struct {
	*rows
	in   *memory
	key  string
	kept *kept // nil: too many
}

// Values implements postgres.Rows.
func (r *keeping) Values(ctx context.Context) ([]value.Value, error) {
	if r.kept == nil {
		return r.rows.Values(ctx)
	}
	row, err := r.Rows.Values(ctx)
	if errors.Is(err, io.EOF) {
		r.in.keepAnswer(r.key, r.kept)
		r.kept = nil
	}
	if err != nil {
		return nil, r.st.s.explain(err)
	}
	kept := value.KeepAll(row)
	r.kept.bytes += sizeOf(kept)
	if r.kept.rows = append(r.kept.rows, kept); r.kept.bytes > mostAnswer {
		r.kept = nil
	}
	return row, nil
}

// sizeOf returns the approximate memory of values.
func sizeOf(values []value.Value) (n int) {
	for i := range values {
		n += int(unsafe.Sizeof(values[i])) + len(values[i].Text)
		if nest := values[i].Nest; nest != nil {
			n += int(unsafe.Sizeof(*nest)) + sizeOf(nest.Keys) + sizeOf(nest.Values)
		}
	}
	return n
}
