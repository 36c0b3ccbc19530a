"""Reads the tables that query publish iceberg keeps through a REST catalog, and tells as JSON what they hold."""

import json
import os
import sys

import pyarrow.compute as pc
from pyiceberg.catalog import load_catalog

catalog = load_catalog("it", type="rest", uri=sys.argv[1], **{
    "s3.endpoint": os.environ["AWS_ENDPOINT_URL"], "s3.region": os.environ["AWS_REGION"],
    "s3.access-key-id": os.environ["AWS_ACCESS_KEY_ID"], "s3.secret-access-key": os.environ["AWS_SECRET_ACCESS_KEY"]})
out = {"rows": {}, "tags": {}}
for name in catalog.list_tables("callhouse"):
    table = catalog.load_table(name)
    out["rows"][name[-1]] = table.scan().to_arrow().num_rows
    out["tags"][name[-1]] = sorted(n for n, r in table.refs().items() if n != "main")
out["cost"] = str(pc.sum(catalog.load_table("callhouse.calls").scan(selected_fields=("total_cost",)).to_arrow()["total_cost"]).as_py().normalize())
print(json.dumps(out))
