package organisation

import "fmt"

func knowledgeID(place int) int64 { return 1001 + int64(place) }

func topic(n int) string { return topics[n%len(topics)] }

var topics = [...]string{"Billing", "Returns", "Opening hours", "Products", "Contracts", "예약 안내", "Warranty", "Deliveries"}

// knowledgeDocuments are added, become readable or fail, and are removed.
func init() { lives["knowledge_documents"] = knowledgeDocuments }

func knowledgeDocuments(o *Organisation, parent string, until int64) []*life {
	var knowledge int64
	_, _ = fmt.Sscan(parent, &knowledge) // an existing id
	return o.populate(population{
		resource: "knowledge_documents", name: "documents" + parent, lifetime: 150,
		born: func(d *draw) Object {
			kind := d.Pick("file", "file", "text", "webpage")
			urls := any(nil)
			if kind == "webpage" {
				urls = []any{fmt.Sprintf("https://help.example/%d", d.Below(1000))}
			}
			name := fmt.Sprintf("%s %d", topic(d.Below(len(topics))), d.Below(100))
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
