"""What pgAdmin's own pages ask of it: a server, its tree, a query, the rows of a table, the dashboard."""
import http.cookiejar, json, re, time, urllib.request

browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
head = {"Content-Type": "application/json"}


def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    try:
        return browser.open(urllib.request.Request("http://127.0.0.1:@OWN@" + path, data, head), timeout=120).read().decode()
    except urllib.error.HTTPError as e:
        raise SystemExit(f"{path}: {e.code} {e.read().decode()[:2000]}")


def data(path, body=None):
    answer = json.loads(ask(path, body))
    return answer["data"] if isinstance(answer, dict) and "data" in answer else answer


def nodes(kind, *of):
    return {n["label"]: n["_id"] for n in data(f"/browser/{kind}/nodes/1/{'/'.join(map(str, of))}/")}


def rows(tab, *started):
    data(*started)
    while (answer := data(f"/sqleditor/poll/{tab}"))["status"] == "Busy":
        time.sleep(0.1)
    return answer["result"]


ask("/")
page = ask("/browser/js/utils.js")
head[re.search(r"csrf_token_header'\] = '([^']+)'", page)[1]] = re.search(r"csrf_token'\] = '([^']+)'", page)[1]
data("/browser/master_password", {"password": ""})
data("/browser/master_password", {"password": "secret", "button_click": False})
server = json.loads(ask("/browser/server/obj/1/", {"name": "callhouse", "host": "@HOST@", "port": @PORT@, "db": "callhouse", "username": "pgadmin", "password": "none", "connect_now": True, "role": "", "service": "",
    "connection_params": [{"name": "sslmode", "value": "prefer", "keyword": "sslmode"}]}))["node"]["_id"]
db = nodes("database", server)["callhouse"]
data(f"/browser/database/connect/1/{server}/{db}", {})
schema = nodes("schema", server, db)["public"]
tables = nodes("table", server, db, schema)
print(len(tables), "tables")
for kind in "view", "function", "sequence", "type", "domain", "collation", "mview", "foreign_table", "aggregate", "operator", "procedure":
    nodes(kind, server, db, schema)
for kind in "extension", "language", "cast", "foreign_data_wrapper", "event_trigger", "publication", "subscription":
    nodes(kind, server, db)
calls = tables["calls"]
of = f"1/{server}/{db}/{schema}/{calls}"
for kind in "column", "index", "primary_key", "foreign_key", "unique_constraint", "trigger", "rule":
    print(kind, sorted(nodes(kind, server, db, schema, calls))[:3])
print(data(f"/browser/table/sql/{of}"))
for what in "obj", "dependency", "dependent", "stats", "select_sql":
    data(f"/browser/table/{what}/{of}")
print("found", len([f for f in data(f"/search_objects/search/{server}/{db}?text=agent_id&type=all") if f["type"] == "column"]))
login = {"user": "pgadmin", "password": "none", "role": "", "dbname": "callhouse"}
data(f"/sqleditor/initialize/sqleditor/1/1/{server}/{db}", login)
print(rows(1, "/sqleditor/query_tool/start/1", {"sql": "SELECT status, count(*) AS n FROM calls GROUP BY 1 ORDER BY 1"}))
data(f"/sqleditor/initialize/viewdata/2/3/table/1/{server}/{db}/{calls}", login)
print(len(rows(2, "/sqleditor/view_data/start/2")), "rows")
data(f"/dashboard/activity/{server}/{db}")
data(f"/dashboard/dashboard_stats/{server}/{db}?chart_names=session_stats,tps_stats,ti_stats,to_stats,bio_stats")
