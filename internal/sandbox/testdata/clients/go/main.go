// A program that uses the sandbox through clients that oapi-codegen made of its OpenAPI
// documents: make clients.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"clients/v2"
	"clients/v3"
)

const key = "sandbox-key"

func authorize(_ context.Context, r *http.Request) error {
	r.Header.Set("Authorization", "Bearer "+key)
	return nil
}

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, base string) error {
	three, err := v3.NewClientWithResponses(base, v3.WithRequestEditorFn(authorize))
	if err != nil {
		return err
	}
	two, err := v2.NewClientWithResponses(base, v2.WithRequestEditorFn(authorize))
	if err != nil {
		return err
	}

	tools := []v3.BuiltInTool{{ToolType: "transfer_call", AdditionalProperties: map[string]any{"transferType": "warm"}}}
	agent, err := three.CreateAgentWithResponse(ctx, v3.CreateAgentRequest{Name: "Reminder", Data: &v3.AgentSettings{BuiltInTools: &tools}})
	if err != nil {
		return err
	}
	if agent.JSON200 == nil {
		return fmt.Errorf("create agent: %s %s", agent.Status(), agent.Body)
	}
	a := agent.JSON200
	fmt.Printf("agent      %s, %s, %s transfers\n", a.Name, a.Type, (*a.Data.BuiltInTools)[0].AdditionalProperties["transferType"])

	concurrency := 2
	made, err := two.CreateCampaignV2WithResponse(ctx, v2.CreateCampaignRequestV2{
		Name: "Tuesday", AgentId: a.Id, CallFrom: "0212345678", Concurrency: &concurrency,
		Tasks: []v2.CampaignTask{{CallTo: "01000000001"}, {CallTo: "01000000002"}, {CallTo: "01000000003"}},
	})
	if err != nil {
		return err
	}
	if made.JSON200 == nil {
		return fmt.Errorf("create campaign: %s %s", made.Status(), made.Body)
	}
	fmt.Printf("campaign   %s, %d calls to make\n", made.JSON200.Status, made.JSON200.TotalCalls)

	for done := false; !done; {
		if err := advance(base, "1m"); err != nil {
			return err
		}
		now, err := two.GetCampaignV2WithResponse(ctx, made.JSON200.Id)
		if err != nil {
			return err
		}
		if now.JSON200 == nil {
			return fmt.Errorf("get campaign: %s %s", now.Status(), now.Body)
		}
		c := now.JSON200
		fmt.Printf("           %s, %d completed, %d failed, %d going on\n", c.Status, *c.CompletedCalls, *c.FailedCalls, *c.ActiveConcurrency)
		done = c.Status == v2.Success || c.Status == v2.Fail
	}
	if err := advance(base, "1h"); err != nil { // for the analyses
		return err
	}

	list, err := three.ListCallsWithResponse(ctx, &v3.ListCallsParams{CampaignId: &made.JSON200.Id})
	if err != nil {
		return err
	}
	if list.JSON200 == nil {
		return fmt.Errorf("list calls: %s %s", list.Status(), list.Body)
	}
	for _, item := range list.JSON200.Items {
		call, err := three.GetCallWithResponse(ctx, item.Id)
		if err != nil {
			return err
		}
		if call.JSON200 == nil {
			return fmt.Errorf("get call: %s %s", call.Status(), call.Body)
		}
		c, turns, feeling := call.JSON200, 0, "no analysis"
		if c.Transcript != nil {
			turns = len(*c.Transcript)
		}
		if c.CallAnalysis != nil && c.CallAnalysis.UserSentiment != nil {
			feeling = *c.CallAnalysis.UserSentiment
		}
		fmt.Printf("call       %s, %s, %d parts of a transcript, %s\n", *c.ToNumber, c.Status, turns, feeling)
	}

	missing, err := three.GetAgentWithResponse(ctx, "nobody", nil)
	if err != nil {
		return err
	}
	fmt.Printf("no agent   %d, %s\n", missing.StatusCode(), missing.JSON404.Error.Code)
	return nil
}

// advance moves the sandbox's clock, which is apart from the API.
func advance(base, by string) error {
	answer, err := http.Post(base+"/sandbox/clock", "application/json", strings.NewReader(`{"advance":"`+by+`"}`))
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
