package organisation

import "time"

// Phones returns the telephone numbers of a customer at t.
func (o *Organisation) Phones(id string, t int64) []string {
	var all []string
	identifiers, _ := o.Find(Named("customers"), "", id, time.UnixMilli(t))["identifiers"].([]any)
	for _, i := range identifiers {
		if i := i.(Object); i["type"] == "phone" {
			all = append(all, i["value"].(string))
		}
	}
	return all
}
