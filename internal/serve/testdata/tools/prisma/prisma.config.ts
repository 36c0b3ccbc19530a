// Prisma's engines in WebAssembly: the native ones are not on npm.
import { defineConfig } from "prisma/config";
import { PrismaPg } from "@prisma/adapter-pg";

export default defineConfig({
  schema: "schema.prisma",
  experimental: { adapter: true },
  engine: "js",
  adapter: async () => new PrismaPg({ connectionString: "postgres://prisma@@ADDRESS@/callhouse" }),
});
