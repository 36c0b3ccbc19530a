package operation

import (
	"net/http"
	"slices"
	"strings"

	"callhouse/internal/sandbox/organisation"
)

// resources are the lists and objects of a company in v3, from their declarations.
func resources() []Operation {
	var all []Operation
	for _, r := range organisation.All {
		singular := strings.TrimSuffix(r.Name, "s")
		if r.Item != "" {
			o := Operation{
				ID: "get" + camel(singular), Method: http.MethodGet, Path: r.Item, Kind: "object", Resource: r.Name,
				Summary: "One of the " + strings.ReplaceAll(r.Name, "_", " "), From: r.From, Answer: answerOf(r),
			}
			if r.Version != nil {
				o.Query = []Parameter{{Name: "version", Type: "string", Note: "current, production or vN"}}
			}
			if r.Name == "schemas" { // the contract names the path of tools apart
				tool := o
				tool.ID, tool.Summary = "getToolSchema", "The schema of a built-in tool"
				tool.Path, tool.Prefix = "/v3/schemas/tool-schema/{schema_type}", "tool-schema/"
				all = append(all, tool)
			}
			all = append(all, o)
		}
		if r.List != "" {
			all = append(all, Operation{
				ID: "list" + camel(r.Name), Method: http.MethodGet, Path: r.List, Kind: "list", Resource: r.Name,
				Summary: "All " + strings.ReplaceAll(r.Name, "_", " "), From: r.From, Query: listParameters(r), Answer: camel(singular) + "List",
			})
		}
	}
	return all
}

// answerOf is the name of the schema of a resource's objects.
func answerOf(r *organisation.Resource) string {
	if r.Name == "campaigns" {
		return "CampaignResponse" // the contract calls it so
	}
	return camel(strings.TrimSuffix(r.Name, "s"))
}

func listParameters(r *organisation.Resource) []Parameter {
	if r.Unpaged {
		return nil
	}
	all := slices.Clone(paged)
	if r.Include != "" {
		all = append(all, Parameter{Name: r.Include, Type: "boolean", Default: "false", Contract: true})
	}
	if !r.Fixed {
		all = append(all, sortOrder)
	}
	if r.Sorts != nil {
		all = append(all, Parameter{Name: "sort_by", Type: "string", Values: r.Sorts, Default: r.Sorts[0]})
	}
	for _, f := range r.Filters {
		p := Parameter{Name: f.Name, Type: "string", Values: f.Values, Many: f.Many, Default: f.Default, Contract: f.Contract}
		if f.Time {
			p.Type, p.Note = "integer", "unix milliseconds, or seconds where it has no more than 11 digits"
		}
		all = append(all, p)
	}
	return all
}

// camel turns telephone_numbers into TelephoneNumbers.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// companyV2 are the operations of v2 on everything but calls.
var companyV2 = []Operation{
	agentsV2,
	{
		ID: "listCampaignsV2", Method: http.MethodPost, Path: "/v2/campaigns/list", Kind: "list", Resource: "v2_campaigns", Body: "CampaignListRequestV2", Answer: "CampaignListV2",
		Summary: "Campaigns, the newest first", From: "contract; invented: that `start_timestamp` is about `created_at`, in milliseconds or seconds", Beware: "the status of a refusal",
	},
	{
		ID: "getCampaignV2", Method: http.MethodGet, Path: "/v2/campaigns/{campaign_id}", Kind: "object", Resource: "v2_campaigns", Answer: "CampaignResponseV2",
		Summary: "One campaign", From: contract,
	},
	{
		ID: "getKnowledgeV2", Method: http.MethodGet, Path: "/v2/knowledge/{knowledge_base_id}", Kind: "object", Resource: "v2_knowledges", Answer: "KnowledgeBaseV2",
		Summary: "One knowledge base with its documents", From: "contract; invented: that the id is v3's, as text",
	},
	{
		ID: "deleteKnowledgeDocumentsV2", Method: http.MethodDelete, Path: "/v2/knowledge/{knowledge_base_id}/documents/batch", Kind: "write", Resource: "v2_knowledges",
		Body: "DeleteDocumentsRequestV2", Answer: "DeleteDocumentsResponseV2",
		Summary: "Delete 1 to 10 documents of a knowledge base", From: "contract; invented: that a document that is named twice is deleted once, and counted once",
	},
	{
		ID: "deleteKnowledgeDocumentV2", Method: http.MethodDelete, Path: "/v2/knowledge/{knowledge_base_id}/documents/{knowledge_document_id}", Kind: "write", Resource: "v2_knowledges",
		Answer: "DeleteDocumentResponseV2", Summary: "Delete a document of a knowledge base", From: "contract: the path, the form of a failure; invented: the answer", Beware: "the answer",
	},
}
