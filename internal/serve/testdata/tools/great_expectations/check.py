"""Expectations of every kind about the table calls."""
import great_expectations as gx
from great_expectations import expectations as e

context = gx.get_context(mode="ephemeral")
source = context.data_sources.add_postgres("callhouse", connection_string="postgresql+psycopg2://gx@@ADDRESS@/callhouse")
batch = source.add_table_asset("calls", table_name="calls").add_batch_definition_whole_table("all").get_batch()
for asked in [
    e.ExpectTableRowCountToEqual(value=3),
    e.ExpectColumnValuesToNotBeNull(column="call_id"),
    e.ExpectColumnValuesToBeUnique(column="call_id"),
    e.ExpectColumnValuesToBeInSet(column="status", value_set=["ended", "error"]),
    e.ExpectColumnValuesToMatchRegex(column="call_id", regex="^c[0-9]$"),
    e.ExpectColumnValuesToMatchLikePattern(column="status", like_pattern="e%"),
    e.ExpectColumnValueLengthsToBeBetween(column="call_id", min_value=2, max_value=2),
    e.ExpectColumnValuesToBeOfType(column="call_id", type_="TEXT"),
    e.ExpectColumnMeanToBeBetween(column="duration_ms", min_value=30750, max_value=30750),
    e.ExpectColumnMedianToBeBetween(column="duration_ms", min_value=30750, max_value=30750),
    e.ExpectColumnStdevToBeBetween(column="duration_ms", min_value=42779, max_value=42780),
    e.ExpectColumnQuantileValuesToBeBetween(column="duration_ms", quantile_ranges={"quantiles": [0.1, 0.9], "value_ranges": [[500, 500], [61000, 61000]]}),
    e.ExpectCompoundColumnsToBeUnique(column_list=["call_id", "status"]),
    e.UnexpectedRowsExpectation(unexpected_rows_query="SELECT * FROM {batch} WHERE duration_ms < 0"),
]:
    answer = batch.validate(asked)
    print(type(asked).__name__, answer.success, "" if answer.success else answer)
