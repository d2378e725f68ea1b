import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { isUnexpected, renderError, toConnectError } from "./public-error.ts";

const asked = { errorsUrl: "https://docs.example.com/errors", requestId: "req_1" };
/** What PostgreSQL says to its clients when it is stopped. */
const databaseStopped = Object.assign(new Error("terminating connection"), { code: "57P01" });

describe("renderError()", () => {
  it("calls a database that is down unavailable, and says when to come again", () => {
    const { status, headers, body } = renderError(databaseStopped, asked);
    expect({ status, headers }).toEqual({ status: 503, headers: { "Retry-After": "1" } });
    expect(JSON.parse(body)).toMatchObject({ code: "unavailable", status: 503 });
  });

  it("says nothing of an error that nobody expected", () => {
    const { status, body } = renderError(new Error("4242424242424242"), asked);
    expect(status).toBe(500);
    expect(body).not.toContain("4242");
  });
});

describe("toConnectError()", () => {
  it("gives an outage the code that a client may repeat", () => {
    expect(toConnectError(databaseStopped).code).toBe(Code.Unavailable);
  });
});

describe("isUnexpected()", () => {
  it("has bugs and outages logged", () => {
    expect([isUnexpected(databaseStopped), isUnexpected(new Error("bug"))]).toEqual([true, true]);
  });
});
