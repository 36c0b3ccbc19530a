package operation

import "net/http"

// campaigns are what can be done to campaigns in v3.
var campaigns = []Operation{
	{
		ID: "updateCampaign", Method: http.MethodPatch, Path: "/v3/campaigns/{campaign_id}", Kind: "write", Resource: "campaigns", Body: "UpdateCampaignV3Request", Answer: "CampaignResponse",
		Summary: "Change a campaign that is in draft or pending", From: "contract; documented: the fields, and that `name` is neither null nor blank", Beware: "whether it works while the campaign is paused: here it does not",
	},
	action("pause", "Let a campaign call nobody else, until it is resumed"),
	action("resume", "Let a campaign that is paused go on, inside its hours"),
	action("cancel", "Let a campaign call nobody else, for good"),
}

// action is something that a user does to a campaign.
func action(name, summary string) Operation {
	return Operation{
		ID: name + "Campaign", Method: http.MethodPost, Path: "/v3/campaigns/{campaign_id}/" + name, Kind: "write", Resource: "campaigns", Answer: "CampaignResponse",
		Summary: summary, From: "documented: that there is such an action; invented: the path, the answer, and in which states it is accepted", Beware: "the path, and the answer",
	}
}

// campaignsV2 are what can be done to them in v2.
var campaignsV2 = []Operation{
	{
		ID: "createCampaignV2", Method: http.MethodPost, Path: "/v2/campaigns", Kind: "write", Resource: "v2_campaigns", Body: "CreateCampaignRequestV2", Answer: "CampaignResponseV2",
		Summary: "Make a campaign, whose tasks become calls", From: "contract; invented: which parts of a task and of the hours are required", Beware: "how soon and how fast it calls",
	},
	{
		ID: "updateCampaignV2", Method: http.MethodPatch, Path: "/v2/campaigns/{campaign_id}", Kind: "write", Resource: "v2_campaigns", Body: "UpdateCampaignRequestV2", Answer: "CampaignResponseV2",
		Summary: "Change a campaign that is in draft or pending", From: contract, Beware: "the status of a refusal: here it is 409",
	},
	{
		ID: "pauseCampaignV2", Method: http.MethodPost, Path: "/v2/campaigns/{campaign_id}/pause", Kind: "write", Resource: "v2_campaigns", Answer: "PauseResponseV2",
		Summary: "Let a campaign call nobody else", From: "contract; invented: that it can be pending, ongoing or paused by the system, and nothing else", Beware: "in which states it is accepted",
	},
}
