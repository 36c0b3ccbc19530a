package organisation

import "fmt"

// knowledges are the knowledge bases. Their ids are integers.
var knowledges = &Resource{
	Name: "knowledges", Own: "knowledge_id", List: "/v3/knowledges", Item: "/v3/knowledges/{knowledge_id}",
	From: "contract: paths; observed: the fields",
	ID:   own, lives: func(o *Organisation, _ string, until int64) []*life {
		return o.populate("knowledges", population{
			places: o.cfg.Sizes.Knowledges, every: 45,
			born: func(d *draw) Object {
				return Object{"id": knowledgeID(d.n), "name": topics[d.n%len(topics)] + " handbook", "created_at": d.at}
			},
			edit: func(d *draw, _ Object) Object {
				return Object{"name": fmt.Sprintf("%s handbook %d", topics[d.n%len(topics)], 2+d.Below(20))}
			},
		}, until)
	},
}

func knowledgeID(place int) int64 { return 1001 + int64(place) }

var topics = [...]string{"Billing", "Returns", "Opening hours", "Products", "Contracts", "예약 안내", "Warranty", "Deliveries"}

// knowledgeDocuments are put in, become readable or fail, and are taken out.
var knowledgeDocuments = &Resource{
	Name: "knowledge_documents", Own: "document_id", List: "/v3/knowledges/{knowledge_id}/documents", Parent: "knowledges",
	From: "documented",
	Filters: []Filter{
		is("document_type", true, "file", "text", "webpage"), is("status", true, "uploading", "completed", "failed"),
	},
	ID: own, lives: func(o *Organisation, parent string, until int64) []*life {
		return o.populate("documents"+parent, population{
			places: o.cfg.Sizes.Documents, lifetime: 150,
			born: func(d *draw) Object {
				kind := pick(&d.Dice, "file", "file", "text", "webpage")
				urls := any(nil)
				if kind == "webpage" {
					urls = []any{fmt.Sprintf("https://help.example/%d", d.Below(1000))}
				}
				var knowledge int64
				_, _ = fmt.Sscan(parent, &knowledge) // it is one of ours
				return Object{
					"id": d.id, "knowledge_id": knowledge, "name": fmt.Sprintf("%s %d", topics[d.Below(len(topics))], d.Below(100)),
					"document_type": kind, "status": "uploading", "created_at": d.at, "upload_percentage": int64(0), "token_count": nil, "webpage_urls": urls,
				}
			},
			grow: func(d *draw, l *life) {
				half, end := d.at+d.Between(5, 60)*msMinute/10, d.at+d.Between(70, 600)*msMinute/10
				l.steps = append(l.steps, set(half, Object{"upload_percentage": d.Between(20, 80)}))
				if d.Chance(.1) {
					l.steps = append(l.steps, set(end, Object{"status": "failed", "upload_percentage": nil}))
					return
				}
				l.steps = append(l.steps, set(end, Object{"status": "completed", "upload_percentage": int64(100), "token_count": d.Between(200, 90_000)}))
			},
		}, until)
	},
}
