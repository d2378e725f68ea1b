import { describe, expect, it } from "vitest";
import { enabledLines } from "./endpoint-status.ts";

const missed = { missedEvents: 3, missedSince: "2026-03-02T09:30:00.000Z" };
const recover = "  switchyard delivery recover we_1 --since 2026-03-02T09:30:00.000Z";

describe("enabledLines()", () => {
  it("names what was missed and the command that sends it, also for an endpoint with a URL still to verify", () => {
    expect(enabledLines("we_1", { endpoint: { status: "ENABLED" }, ...missed })).toEqual([
      "Enabled: events are posted from now on.",
      "It has missed 3 events since 2026-03-02T09:30:00.000Z. To send them:",
      recover,
    ]);
    expect(enabledLines("we_1", { endpoint: { status: "PENDING" }, ...missed })).toEqual([
      "Its URL is not verified yet:",
      "  switchyard endpoint verify we_1",
      "It has missed 3 events since 2026-03-02T09:30:00.000Z. To send them once it is verified:",
      recover,
    ]);
  });

  it("mentions nothing missed where nothing was missed", () => {
    expect(enabledLines("we_1", { endpoint: { status: "ENABLED" } })).toHaveLength(1);
    expect(enabledLines("we_1", { endpoint: { status: "PENDING" } })).toHaveLength(2);
  });
});
