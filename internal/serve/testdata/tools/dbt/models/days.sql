select local_date, count(*) as calls, sum(total_cost) as cost
from {{ source('house', 'calls') }}
group by 1
