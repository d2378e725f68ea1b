import { describe, expect, it } from "vitest";
import { type Arrival, checkArrivals, type EmittedEvent } from "./check-arrivals.ts";

const emitted: EmittedEvent[] = [
  { eventId: "evt_1", sessionId: "ps_1", sequence: 1, bodyHash: "a", endpoints: ["we_1", "we_2"] },
  { eventId: "evt_2", sessionId: "ps_1", sequence: 2, bodyHash: "b", endpoints: ["we_1"] },
];
const first: Arrival = { endpoint: "we_1", eventId: "evt_1", bodyHash: "a", isGenuine: true };
const all: Arrival[] = [
  first,
  { ...first, endpoint: "we_2" },
  { endpoint: "we_1", eventId: "evt_2", bodyHash: "b", isGenuine: true },
];
const check = (arrivals: Arrival[], events = emitted) => checkArrivals(events, arrivals, () => false).violations;

describe("checkArrivals()", () => {
  it("reports nothing when everything arrived once", () => {
    expect(checkArrivals(emitted, all, () => false)).toEqual({ violations: [], repeated: [] });
  });

  it("reports a missing event at each endpoint", () => {
    expect(check([first, all[2]!])).toEqual(["evt_1 at we_2 never arrived"]);
  });

  it("reports other bytes and invalid signatures", () => {
    expect(check([...all.slice(1), { ...first, bodyHash: "x" }])).toEqual(["evt_1 at we_1 arrived with other bytes"]);
    expect(check([...all.slice(1), { ...first, isGenuine: false }])).toEqual([
      "evt_1 at we_1 is refused by the verifier",
    ]);
  });

  it("reports an event that was never emitted", () => {
    expect(check([...all, { ...first, eventId: "evt_9" }])).toEqual(["evt_9 at we_1 was never emitted"]);
  });

  it("accepts a repeated event only where it may repeat", () => {
    expect(check([...all, first])).toEqual(["evt_1 at we_1 arrived 2 times"]);
    expect(checkArrivals(emitted, [...all, first], (eventId) => eventId === "evt_1")).toEqual({
      violations: [],
      repeated: ["evt_1 at we_1"],
    });
    expect(checkArrivals(emitted, [...all, first], (eventId) => eventId === "evt_2").violations).toHaveLength(1);
  });

  it("reports a gap in a session's sequence", () => {
    expect(check([], [{ ...emitted[1]!, endpoints: [] }])).toEqual(["session ps_1 has a gap: 2"]);
  });
});
