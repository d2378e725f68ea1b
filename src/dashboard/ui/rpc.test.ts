import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it, vi } from "vitest";

vi.stubGlobal("location", new URL("https://dashboard.example/test/mer_1/home"));
const { codeOf, messageOf } = await import("./rpc.ts");
vi.unstubAllGlobals();

describe("messageOf()", () => {
  it("calls a call without an answer a lost connection", () => {
    const lost = ConnectError.from(new TypeError("Failed to fetch"));
    expect(codeOf(lost)).toBe("offline");
    expect(messageOf(lost)).toContain("Check your connection");
    expect(codeOf(new ConnectError("gone", Code.Canceled))).toBe("canceled");
  });

  it.each([new RangeError("Invalid time zone specified: Etc/Unknown"), new TypeError("x is undefined"), "text"])(
    "never calls an exception of the page a lost connection: %s",
    (exception) => {
      expect(codeOf(exception)).toBe("page_failed");
      expect(messageOf(exception)).toBe(
        "This page has an error. Reload it; if the error persists, contact your operator.",
      );
    },
  );

  it("says that a page's code could not be fetched", () => {
    const failed = new TypeError("Failed to fetch dynamically imported module: https://dashboard.example/home.js");
    expect(messageOf(failed)).toMatch(/^This page could not be loaded/);
  });
});
