package organisation

import "fmt"

// knowledges are the knowledge bases. Their ids are integers.
func init() {
	populated("knowledges", population{
		every: 45,
		born: func(d *draw) Object {
			return Object{"id": knowledgeID(d.n), "name": topics[d.n%len(topics)] + " handbook"}
		},
		edit: func(d *draw, _ Object) Object {
			return Object{"name": fmt.Sprintf("%s handbook %d", topics[d.n%len(topics)], 2+d.Below(20))}
		},
	})
}

func knowledgeID(place int) int64 { return 1001 + int64(place) }

var topics = [...]string{"Billing", "Returns", "Opening hours", "Products", "Contracts", "예약 안내", "Warranty", "Deliveries"}

// knowledgeDocuments are added, become readable or fail, and are removed.
func init() { lives["knowledge_documents"] = knowledgeDocuments }

func knowledgeDocuments(o *Organisation, parent string, until int64) []*life {
	var knowledge int64
	_, _ = fmt.Sscan(parent, &knowledge) // an existing id
	return o.populate(population{
		resource: "knowledge_documents", name: "documents" + parent, lifetime: 150,
		born: func(d *draw) Object {
			kind := pick(&d.Dice, "file", "file", "text", "webpage")
			urls := any(nil)
			if kind == "webpage" {
				urls = []any{fmt.Sprintf("https://help.example/%d", d.Below(1000))}
			}
			name := fmt.Sprintf("%s %d", topics[d.Below(len(topics))], d.Below(100))
			return Object{"knowledge_id": knowledge, "name": name, "document_type": kind, "webpage_urls": urls}
		},
		grow: func(d *draw, l *life) {
			half, end := d.at+d.Between(5, 60)*msMinute/10, d.at+d.Between(70, 600)*msMinute/10
			l.steps = append(l.steps, set(half, Object{"upload_percentage": d.Between(20, 80)}))
			outcome := Object{"status": "failed", "upload_percentage": nil}
			if !d.Chance(.1) {
				outcome = Object{"status": "completed", "upload_percentage": int64(100), "token_count": d.Between(200, 90_000)}
			}
			l.steps = append(l.steps, set(end, outcome))
		},
	}, o.size("knowledge_documents"), until)
}
