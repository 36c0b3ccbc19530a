"""Has a Superset make a database of query serve, datasets, charts and a dashboard, and asks for their data.

superset.py URL SQLALCHEMY_URI prints the address of the dashboard last.
"""
import http.cookiejar, json, secrets, sys, urllib.parse, urllib.request

base, uri = sys.argv[1:3]
jar = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
headers = {"Content-Type": "application/json"}


def call(method, path, body=None):
    request = urllib.request.Request(base + "/api/v1/" + path, json.dumps(body).encode() if body is not None else None, headers, method=method)
    try:
        with jar.open(request) as r:
            return json.load(r)
    except urllib.error.HTTPError as e:
        sys.exit("%s %s: %d %s" % (method, path, e.code, e.read().decode()[:2000]))


form = urllib.parse.urlencode({"username": "admin", "password": "admin"}).encode()
jar.open(urllib.request.Request(base + "/login/", form, method="POST")).read()

print("test_connection:", call("POST", "database/test_connection/", {"sqlalchemy_uri": uri, "database_name": "callhouse", "impersonate_user": False})["message"])
database = call("POST", "database/", {"database_name": "callhouse", "sqlalchemy_uri": uri, "expose_in_sqllab": True})["id"]
print("schemas:", call("GET", "database/%d/schemas/" % database)["result"])
tables = call("GET", "database/%d/tables/?q=(schema_name:public)" % database)
print("tables:", tables["count"])
described = call("GET", "database/%d/table_metadata/?name=calls&schema=public" % database)
print("calls:", len(described["columns"]), "columns, foreign keys", len(described["foreignKeys"]), "comment", described.get("comment"))
lab = call("POST", "sqllab/execute/", {"database_id": database, "sql": "SELECT status, count(*) AS n FROM calls GROUP BY 1 ORDER BY 2 DESC", "schema": "public", "runAsync": False, "client_id": secrets.token_hex(5), "queryLimit": 100})
print("SQL Lab:", lab["status"], lab["data"])
dataset = call("POST", "dataset/", {"database": database, "schema": "public", "table_name": "calls"})["id"]
columns = call("GET", "dataset/%d" % dataset)["result"]["columns"]
print("dataset:", len(columns), "columns, of time", sorted(c["column_name"] for c in columns if c["is_dttm"]), ", described", sum(bool(c["description"]) for c in columns))

count = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "calls"}
cost = {"expressionType": "SIMPLE", "column": {"column_name": "total_cost"}, "aggregate": "SUM", "label": "cost"}
charts = {
    "Calls by day and status": ("echarts_timeseries_bar", {"x_axis": "start_at", "time_grain_sqla": "P1D", "metrics": [count], "groupby": ["status"], "row_limit": 10000, "stack": "Stack"}),
    "Cost by agent": ("table", {"query_mode": "aggregate", "groupby": ["agent_id"], "metrics": [count, cost], "row_limit": 10, "server_pagination": False}),
    "How calls ended": ("pie", {"groupby": ["disconnection_reason"], "metric": count, "row_limit": 20}),
    "By weekday and hour": ("heatmap_v2", {"x_axis": "local_hour", "groupby": "weekday", "metric": count, "row_limit": 10000, "normalize_across": "heatmap"}),
}
ids = []
for name, (kind, form) in charts.items():
    form = dict(form, viz_type=kind, datasource="%d__table" % dataset, time_range="No filter")
    metrics = form.get("metrics") or [form["metric"]]
    x = form.get("x_axis")
    groups = form["groupby"] if isinstance(form["groupby"], list) else [form["groupby"]]
    if x == "start_at":
        x = {"timeGrain": "P1D", "columnType": "BASE_AXIS", "sqlExpression": "start_at", "label": "start_at", "expressionType": "SQL"}
    query = {"datasource": {"id": dataset, "type": "table"}, "force": True, "result_format": "json", "result_type": "full",
             "queries": [{"columns": ([x] if x else []) + groups, "metrics": metrics, "row_limit": form["row_limit"], "orderby": [[metrics[0], False]], "filters": [], "extras": {"time_grain_sqla": "P1D"}}]}
    data = call("POST", "chart/data", query)["result"][0]
    print("chart:", name, data["rowcount"], "rows, error", data["error"], "|", " ".join(data["query"].split())[:300])
    ids.append(call("POST", "chart/", {"slice_name": name, "viz_type": kind, "datasource_id": dataset, "datasource_type": "table", "params": json.dumps(form), "query_context": json.dumps(query)})["id"])
layout = {"ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]}, "GRID_ID": {"type": "GRID", "id": "GRID_ID", "children": ["ROW-1", "ROW-2"], "parents": ["ROOT_ID"]}, "DASHBOARD_VERSION_KEY": "v2"}
for row, at in (("ROW-1", ids[:2]), ("ROW-2", ids[2:])):
    layout[row] = {"type": "ROW", "id": row, "children": ["CHART-%d" % i for i in at], "parents": ["ROOT_ID", "GRID_ID"], "meta": {"background": "BACKGROUND_TRANSPARENT"}}
    for i in at:
        layout["CHART-%d" % i] = {"type": "CHART", "id": "CHART-%d" % i, "children": [], "parents": ["ROOT_ID", "GRID_ID", row], "meta": {"chartId": i, "width": 6, "height": 45}}
dashboard = call("POST", "dashboard/", {"dashboard_title": "Calls", "published": True, "position_json": json.dumps(layout)})["id"]
for i in ids:
    call("PUT", "chart/%d" % i, {"dashboards": [dashboard]})
print("%s/superset/dashboard/%d/?standalone=1" % (base, dashboard))
