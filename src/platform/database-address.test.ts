import { describe, expect, it } from "vitest";
import { databaseTls, parseDatabaseAddress } from "./database-address.ts";

describe("parseDatabaseAddress()", () => {
  it("returns the role, the server and the privacy of the connection", () => {
    expect(parseDatabaseAddress("postgres://live:p%40ss@db:6432/payments?sslmode=verify-full")).toEqual({
      host: "db",
      port: 6432,
      database: "payments",
      user: "live",
      password: "p@ss",
      privacy: "verified",
      isThisMachine: false,
    });
    expect(parseDatabaseAddress("postgres://a:b@[::1]/x")).toMatchObject({
      host: "::1",
      port: 5432,
      isThisMachine: true,
    });
    expect(parseDatabaseAddress("db/x")).toBeUndefined();
  });

  it.each(["a:pa/ss@db/x", "a:12/ss@db/x", "a:12#ss@db/x", "a:100%@db/x", "a:b@db/%zz", "a:b@db:port/x"])(
    "rejects postgres://%s",
    (rest) => expect(parseDatabaseAddress(`postgres://${rest}`)).toBeUndefined(),
  );

  it.each([
    ["", "clear"],
    ["?sslmode=disable", "clear"],
    ["?sslmode=prefer", "clear"],
    ["?sslmode=no-verify", "encrypted"],
    ["?sslmode=require", "verified"],
    ["?sslmode=verify-ca", "verified"],
  ])("reads %j as %s", (query, privacy) => {
    expect(parseDatabaseAddress(`postgres://a:b@db/x${query}`)?.privacy).toBe(privacy);
  });
});

describe("databaseTls()", () => {
  it("requests TLS as the address does, and none if it does not", () => {
    expect(databaseTls("postgres://a:b@db/x")).toEqual({});
    expect(databaseTls("postgres://a:b@db/x?sslmode=verify-full")).toEqual({ ssl: { rejectUnauthorized: true } });
    expect(databaseTls("postgres://a:b@db/x?sslmode=no-verify")).toEqual({ ssl: { rejectUnauthorized: false } });
    expect(() => databaseTls("postgres://a:b@db/x?sslmode=require&sslrootcert=/nowhere")).toThrow("ENOENT");
  });
});
