{{ config(materialized='table') }}
select local_date, count(*) as calls, count(*) filter (outcome = 'completed') as completed, sum(total_cost) as cost
from {{ ref('calls') }}
where local_date is not null
group by local_date
