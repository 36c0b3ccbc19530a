select date_trunc('week', local_date) as week, sum(calls) as calls from {{ ref('days') }} group by 1
