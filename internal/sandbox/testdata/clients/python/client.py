"""A program that uses the sandbox through clients that openapi-python-client made of its
OpenAPI documents: interop/sandbox.sh."""

import sys

import httpx

from v2 import AuthenticatedClient as ClientV2
from v2.api.campaigns import create_campaign_v2, get_campaign_v2
from v2.models import CampaignStatus, CampaignTask, CreateCampaignRequestV2
from v3 import AuthenticatedClient as ClientV3
from v3.api.agents import create_agent, get_agent
from v3.api.calls import get_call, list_calls
from v3.models import AgentSettings, BuiltInTool, CreateAgentRequest

base = sys.argv[1]
three = ClientV3(base_url=base, token="sandbox-key")
two = ClientV2(base_url=base, token="sandbox-key")


def advance(by):
    """Moves the sandbox's clock, which is apart from the API."""
    httpx.post(base + "/sandbox/clock", json={"advance": by}).raise_for_status()


tool = BuiltInTool(tool_type="transfer_call")
tool["transferType"] = "warm"
agent = create_agent.sync(client=three, body=CreateAgentRequest(name="Reminder", data=AgentSettings(built_in_tools=[tool])))
print(f"agent      {agent.name}, {agent.type_}, {agent.data.built_in_tools[0]['transferType']} transfers")

tasks = [CampaignTask(call_to=number) for number in ("01000000001", "01000000002", "01000000003")]
body = CreateCampaignRequestV2(name="Tuesday", agent_id=agent.id, call_from="0212345678", concurrency=2, tasks=tasks)
campaign = create_campaign_v2.sync(client=two, body=body)
print(f"campaign   {campaign.status}, {campaign.total_calls} calls to make")

while campaign.status not in (CampaignStatus.SUCCESS, CampaignStatus.FAIL):
    advance("1m")
    campaign = get_campaign_v2.sync(campaign.id, client=two)
    print(f"           {campaign.status}, {campaign.completed_calls} completed, {campaign.failed_calls} failed, {campaign.active_concurrency} going on")
advance("1h")  # for the analyses

for item in list_calls.sync(client=three, campaign_id=campaign.id).items:
    call = get_call.sync(item.id, client=three)
    feeling = call.call_analysis.user_sentiment if call.call_analysis else "no analysis"
    print(f"call       {call.to_number}, {call.status}, {len(call.transcript or [])} parts of a transcript, {feeling}")

missing = get_agent.sync_detailed("nobody", client=three)
print(f"no agent   {int(missing.status_code)}, {missing.parsed.error.code}")
