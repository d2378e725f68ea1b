import { expect, it } from "vitest";
import { createTestDatabase, testPostgresUrl } from "../dev/testing/postgres.ts";
import { parseGivenAddress, requireGivenServers } from "./given-servers.ts";

it("accepts a role that may create databases and roles, and refuses one that may not", async () => {
  await requireGivenServers({ postgres: await testPostgresUrl(), nats: undefined });
  const database = await createTestDatabase("accounts");
  await expect(requireGivenServers({ postgres: database.url, nats: undefined })).rejects.toThrow(
    "CREATEDB and CREATEROLE",
  );
  await database.drop();
});

it("names the server that does not answer, and its option", async () => {
  await expect(
    requireGivenServers({ postgres: "postgres://a:b@127.0.0.1:1/postgres", nats: undefined }),
  ).rejects.toThrow("PostgreSQL does not answer at the address given with --postgres: connect ECONNREFUSED");
  await expect(
    requireGivenServers({ postgres: undefined, nats: { servers: "127.0.0.1:1", user: "none", pass: "none" } }),
  ).rejects.toThrow("NATS with JetStream does not answer at the address given with --nats: CONNECTION_REFUSED");
});

it("refuses an invalid address without repeating it", () => {
  expect(parseGivenAddress("--nats", "nats://user:word@127.0.0.1:4222").host).toBe("127.0.0.1:4222");
  expect(parseGivenAddress("--postgres", "postgresql://owner@db/postgres").host).toBe("db");
  for (const [option, address] of [
    ["--nats", "secret"],
    ["--nats", "postgres://secret@db/x"],
    ["--postgres", "nats://secret@db:4222"],
    ["--postgres", "postgres://secret@db:port/x"],
  ] as const) {
    expect(() => parseGivenAddress(option, address)).toThrow(
      /^--(nats|postgres) needs an address such as (?!.*secret)/,
    );
  }
});
