package follow

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// mostIDs is how many calls one hint may name.
const mostIDs = 20

var (
	idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{8,64}$`)
	uuid   = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// Ranks of texts that may be a call's id, from the most likely.
const (
	rankKnown = iota // the id of a known call
	rankCall         // the value of call_id
	rankInner        // the value of id in an object called call
	rankID           // the value of another id that is a UUID
	rankAny          // another UUID
	ranks
)

// Find returns the most likely ids of calls in a JSON text of unknown form. The contract does not
// define the content of webhooks.
func Find(body []byte, known func(id string) bool) ([]string, error) {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return nil, err
	}
	var found [ranks][]string
	look(v, "", "", func(text, key, parent string) {
		rank := rankAny
		switch {
		case !idForm.MatchString(text):
			return
		case known(text):
			rank = rankKnown
		case key == "callid":
			rank = rankCall
		case key == "id" && parent == "call":
			rank = rankInner
		case !uuid.MatchString(text):
			return
		case key == "id":
			rank = rankID
		}
		if ids := &found[rank]; !slices.Contains(*ids, text) && len(*ids) < mostIDs {
			*ids = append(*ids, text)
		}
	})
	for rank, ids := range found {
		if len(ids) > 0 {
			slices.Sort(ids)
			if rank >= rankID {
				ids = ids[:1]
			}
			return ids, nil
		}
	}
	return nil, nil
}

// look calls see with every text in v, its key and the key of the enclosing object, in lower case
// and without underscores.
func look(v any, key, parent string, see func(text, key, parent string)) {
	switch v := v.(type) {
	case string:
		see(v, key, parent)
	case []any:
		for _, e := range v {
			look(e, key, parent, see)
		}
	case map[string]any:
		for k, e := range v {
			look(e, strings.ToLower(strings.ReplaceAll(k, "_", "")), key, see)
		}
	}
}
