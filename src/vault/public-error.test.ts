import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { isUnexpected, renderError, toConnectError } from "./public-error.ts";

const asked = { errorsUrl: "https://docs.example.com/errors", requestId: "req_1" };
/** PostgreSQL's error to its clients when it is stopped. */
const databaseStopped = Object.assign(new Error("terminating connection"), { code: "57P01" });

describe("renderError()", () => {
  it("reports a database that is down as unavailable, and says when to retry", () => {
    const { status, headers, body } = renderError(databaseStopped, asked);
    expect({ status, headers }).toEqual({ status: 503, headers: { "Retry-After": "1" } });
    expect(JSON.parse(body)).toMatchObject({ code: "unavailable", status: 503 });
  });

  it("discloses nothing of an unexpected error", () => {
    const { status, body } = renderError(new Error("4242424242424242"), asked);
    expect(status).toBe(500);
    expect(body).not.toContain("4242");
  });
});

describe("toConnectError()", () => {
  it("gives an outage the code that a client may retry", () => {
    expect(toConnectError(databaseStopped).code).toBe(Code.Unavailable);
  });
});

describe("isUnexpected()", () => {
  it("is true of bugs and outages, which are logged", () => {
    expect([isUnexpected(databaseStopped), isUnexpected(new Error("bug"))]).toEqual([true, true]);
  });
});
