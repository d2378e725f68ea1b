import { expect, it } from "vitest";
import { requireServerVersion } from "./schema-error.ts";

it("refuses a server older than PostgreSQL 18, and names both versions", () => {
  expect(() => requireServerVersion(150_018)).toThrow(
    "Switchyard needs PostgreSQL 18 or newer; this server is PostgreSQL 15.",
  );
  expect(() => requireServerVersion(180_004)).not.toThrow();
  expect(() => requireServerVersion(190_000)).not.toThrow();
});
