import { PrismaPg } from "@prisma/adapter-pg";
import client from "@prisma/client";

const db = new client.PrismaClient({ adapter: new PrismaPg({ connectionString: "postgres://prisma@@ADDRESS@/callhouse" }) });
const groups = await db.calls.groupBy({ by: ["status"], _count: { _all: true }, _avg: { duration_ms: true }, _sum: { total_cost: true }, orderBy: { status: "asc" } });
console.log(groups.map((g) => [g.status, g._count._all, g._avg.duration_ms, g._sum.total_cost].join(" ")).join("; "));
const calls = await db.calls.findMany({ where: { duration_ms: { gt: 1000n } }, include: { transcript_turns: { orderBy: { turn: "asc" } } } });
console.log(calls.map((c) => [c.call_id, c.start_at.toISOString(), c.metadata.campaign, c.transcript_turns.map((t) => t.role)].join(" ")).join("; "));
console.log(await db.calls.count({ where: { metadata: { path: ["campaign"], equals: "q4" } } }), await db.$transaction([db.runs.count(), db.agents.count()]));
const raw = await db.$queryRaw`SELECT count(*) AS n FROM calls WHERE start_at > ${new Date(1761000000000)}`;
console.log(raw[0].n);
await db.$disconnect();
