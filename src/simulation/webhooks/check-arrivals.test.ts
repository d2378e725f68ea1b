import { describe, expect, it } from "vitest";
import { type Arrival, checkArrivals, type ToldEvent } from "./check-arrivals.ts";

const told: ToldEvent[] = [
  { eventId: "evt_1", sessionId: "ps_1", sequence: 1, bodyHash: "a", endpoints: ["we_1", "we_2"] },
  { eventId: "evt_2", sessionId: "ps_1", sequence: 2, bodyHash: "b", endpoints: ["we_1"] },
];
const first: Arrival = { endpoint: "we_1", eventId: "evt_1", bodyHash: "a", isGenuine: true };
const all: Arrival[] = [
  first,
  { ...first, endpoint: "we_2" },
  { endpoint: "we_1", eventId: "evt_2", bodyHash: "b", isGenuine: true },
];
const check = (arrivals: Arrival[], events = told) => checkArrivals(events, arrivals, () => false).violations;

describe("checkArrivals()", () => {
  it("objects to nothing when everything came once", () => {
    expect(checkArrivals(told, all, () => false)).toEqual({ violations: [], repeated: [] });
  });

  it("misses an event at each endpoint", () => {
    expect(check([first, all[2]!])).toEqual(["evt_1 at we_2 never came"]);
  });

  it("sees other bytes and signatures that are not ours", () => {
    expect(check([...all.slice(1), { ...first, bodyHash: "x" }])).toEqual(["evt_1 at we_1 came with other bytes"]);
    expect(check([...all.slice(1), { ...first, isGenuine: false }])).toEqual([
      "evt_1 at we_1 is refused by the verifier",
    ]);
  });

  it("sees what nobody told", () => {
    expect(check([...all, { ...first, eventId: "evt_9" }])).toEqual(["evt_9 at we_1 was never told"]);
  });

  it("lets an event come again only where it may", () => {
    expect(check([...all, first])).toEqual(["evt_1 at we_1 came 2 times"]);
    expect(checkArrivals(told, [...all, first], (eventId) => eventId === "evt_1")).toEqual({
      violations: [],
      repeated: ["evt_1 at we_1"],
    });
    expect(checkArrivals(told, [...all, first], (eventId) => eventId === "evt_2").violations).toHaveLength(1);
  });

  it("sees a gap in a session's sequence", () => {
    expect(check([], [{ ...told[1]!, endpoints: [] }])).toEqual(["session ps_1 has a gap: 2"]);
  });
});
