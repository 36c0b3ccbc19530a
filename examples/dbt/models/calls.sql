-- One row per call. A call that changed has a later fetched_at, and replaces its row.
{{ config(materialized='incremental', incremental_strategy='delete+insert', unique_key='call_id') }}
select call_id, agent_id, start_at, local_date, outcome, user_sentiment, duration_ms, total_cost, fetched_at
from {{ source('warehouse', 'calls') }}
{% if is_incremental() %}
where fetched_at > (select max(fetched_at) from {{ this }})
{% endif %}
