/** Attacks on one merchant's customers, with the product's limits in a time of their own. */
import { beforeEach, describe, expect, it } from "vitest";
import { requestLimitBounds } from "../../limits.ts";
import { CallerCounts } from "../../platform/caller-counts.ts";
import type { CountedClient } from "../../platform/client-address.ts";
import { type ChargedSession, RequestLimits } from "./request-limits.ts";

const limit = {
  perSecond: requestLimitBounds.perSecond.default,
  burst: requestLimitBounds.burst.default,
};
const tickMs = 10;
const attackMs = 20_000;

let nowMs: number;
let paused: { untilMs: number; end: () => void }[];
/** By session id: whether it was submitted, as another edge may have recorded. */
let submitted: Set<string>;
beforeEach(() => {
  nowMs = 0;
  paused = [];
  submitted = new Set();
});

function openLimits(buckets = new CallerCounts(limit)): RequestLimits {
  return new RequestLimits({
    limit,
    take: async ({ name, merchantId }, wanted) => buckets.take(`${name} ${merchantId}`, wanted, nowMs),
    nowMs: () => nowMs,
    pause: (ms) => new Promise<void>((end) => paused.push({ untilMs: nowMs + ms, end })),
    reportFailure: (error) => expect.unreachable(String(error)),
  });
}

/** Passes a tick, with the calls that begin in it; resolves once nothing more happens in it. */
async function tick(): Promise<void> {
  nowMs += tickMs;
  const due = paused.filter(({ untilMs }) => untilMs <= nowMs);
  paused = paused.filter(({ untilMs }) => untilMs > nowMs);
  for (const { end } of due) end();
  await new Promise(setImmediate);
}

/** `reads` are the queries that found out whom to charge; `refusedAtOnce` the calls that nothing was prepared for. */
type Heard = { calls: number; reads: number; refusedAtOnce: number; admitted: number; slowestMs: number };
const nothing = (): Heard => ({ calls: 0, reads: 0, refusedAtOnce: 0, admitted: 0, slowestMs: 0 });

async function call(
  limits: RequestLimits,
  sessionId: string,
  client: CountedClient,
  heard: Heard,
  merchantId = "mer",
): Promise<void> {
  const customer = { sessionId, client };
  const find = async (): Promise<ChargedSession> => {
    heard.reads++;
    return { merchantId, isSubmitted: submitted.has(sessionId) };
  };
  const calledAtMs = nowMs;
  heard.calls++;
  if (limits.isRefusing && limits.refuse(customer)) {
    heard.refusedAtOnce++;
    return;
  }
  try {
    limits.countCustomer(customer, () => {});
    await limits.charge(customer, find, () => {});
    heard.admitted++;
    heard.slowestMs = Math.max(heard.slowestMs, nowMs - calledAtMs);
  } catch (error) {
    expect(error).toMatchObject({ code: "rate_limited", retryAfterMs: expect.any(Number) });
  }
}

const clientOf = (network: string, host: number | string = 1) => ({ address: `${network}.${host}`, network });

// Twice what one session may call, so that the sessions' own limits are at their ends too.
const everyTicks = 10;

/** Calls from ten networks with twelve sessions each, at their full rate. */
function attack(limits: RequestLimits, tickNumber: number, heard: Heard, callsPerSession = Number.POSITIVE_INFINITY) {
  for (let network = 0; network < 10; network++) {
    for (let session = 0; session < 12; session++) {
      if ((tickNumber + session) % everyTicks !== 0) continue;
      const minted = Math.floor(tickNumber / everyTicks / callsPerSession);
      void call(limits, `attack ${network} ${session} ${minted}`, clientOf(`attack ${network}`, session), heard);
    }
  }
}

/** A new customer each 100 ms, from a network of its own, who calls four times. */
function newCustomers(limits: RequestLimits, tickNumber: number, heard: Heard) {
  for (const laterTicks of [0, 30, 300, 600]) {
    const begun = tickNumber - laterTicks;
    if (begun >= 0 && begun % 10 === 0) void call(limits, `customer ${begun}`, clientOf(`home ${begun}`), heard);
  }
}

/** Passes the time of an attack, and the time in which waiting calls are answered. */
async function pass(act: (tickNumber: number) => void): Promise<void> {
  for (let tickNumber = 0; nowMs < attackMs; tickNumber++) {
    act(tickNumber);
    await tick();
  }
  for (const endsAtMs = nowMs + 11_000; nowMs < endsAtMs; ) await tick();
}

describe("ten networks of twelve sessions at their full rate", () => {
  it.each([
    ["with the same sessions", Number.POSITIVE_INFINITY],
    ["with a new session for every three calls", 3],
  ])("keep no new customer out, %s", async (_, callsPerSession) => {
    const limits = openLimits();
    const [attackers, customers] = [nothing(), nothing()];
    await pass((tickNumber) => {
      attack(limits, tickNumber, attackers, callsPerSession);
      newCustomers(limits, tickNumber, customers);
    });
    expect(customers.calls).toBeGreaterThan(600);
    expect(customers.admitted / customers.calls).toBeGreaterThanOrEqual(0.99);
    // What a customer waits for is the next refill.
    expect(customers.slowestMs).toBeLessThan(700);
    // The attack is more than the merchant's limit, and uses the rest of it: nothing is left over.
    expect(attackers.calls).toBeGreaterThan(5 * limit.perSecond * (attackMs / 1_000));
    expect(attackers.admitted + customers.admitted).toBeGreaterThan(0.98 * limit.perSecond * (attackMs / 1_000));
  });

  it("keep no new customer out at the second of two edges either, which share the merchant's limit", async () => {
    const buckets = new CallerCounts(limit);
    const edges = [openLimits(buckets), openLimits(buckets)];
    const heard = edges.map(nothing);
    await pass((tickNumber) => {
      for (const [index, limits] of edges.entries()) {
        attack(limits, tickNumber, nothing());
        if (tickNumber % 20 === index) newCustomers(limits, tickNumber - index, heard[index]!);
      }
    });
    for (const { calls, admitted } of heard) {
      expect(calls).toBeGreaterThan(150);
      expect(admitted / calls).toBeGreaterThanOrEqual(0.99);
    }
  });

  it("keep no customer of another merchant waiting", async () => {
    const limits = openLimits();
    const others = nothing();
    await pass((tickNumber) => {
      attack(limits, tickNumber, nothing());
      const customer = `other ${tickNumber}`;
      if (tickNumber % 2 === 0) void call(limits, customer, clientOf(customer), others, "another");
    });
    expect(others.calls).toBeGreaterThan(900);
    expect(others.admitted).toBe(others.calls);
    expect(others.slowestMs).toBeLessThanOrEqual(tickMs);
  });

  it("cost a query for one call in sixteen at most, and nearly all of their calls nothing but the refusal", async () => {
    const limits = openLimits();
    const attackers = nothing();
    await pass((tickNumber) => attack(limits, tickNumber, attackers));
    expect(attackers.calls).toBeGreaterThan(20_000);
    expect(attackers.reads).toBeLessThan(attackers.calls / 16);
    expect(attackers.refusedAtOnce / (attackers.calls - attackers.admitted)).toBeGreaterThan(0.8);
  });

  it("do not displace each other all the time, in whatever order they call", async () => {
    const limits = openLimits();
    const attackers = nothing();
    let random = 1;
    await pass(() => {
      for (let calls = 0; calls < 7; calls++) {
        random = (random * 16_807) % 0x7f_ff_ff_ff;
        const session = random % 120;
        void call(limits, `attack ${session}`, clientOf(`attack ${session % 10}`, session), attackers);
      }
    });
    expect(attackers.refusedAtOnce / (attackers.calls - attackers.admitted)).toBeGreaterThan(0.65);
  });

  it("keep nobody waiting who has submitted, also through another edge", async () => {
    const limits = openLimits();
    const waiting = nothing();
    await pass((tickNumber) => {
      attack(limits, tickNumber, nothing());
      // Twenty customers, who have read their sessions here, submit at another edge and poll here each second.
      const customer = tickNumber % 100;
      if (customer >= 20) return;
      const isFirst = tickNumber < 100;
      void call(limits, `waits ${customer}`, clientOf("attack 1", 99), isFirst ? nothing() : waiting);
      submitted.add(`waits ${customer}`);
    });
    expect(waiting.calls).toBeGreaterThan(300);
    expect(waiting.admitted).toBe(waiting.calls);
    expect(waiting.slowestMs).toBeLessThanOrEqual(tickMs);
  });
});

it("a session in a loop keeps nobody out of its own network", async () => {
  const limits = openLimits();
  const [loop, others] = [nothing(), nothing()];
  await pass((tickNumber) => {
    attack(limits, tickNumber, nothing());
    for (let calls = 0; calls < 5; calls++) void call(limits, "loop", clientOf("carrier", 1), loop);
    if (tickNumber % 100 === 0) void call(limits, `customer ${tickNumber}`, clientOf("carrier", 2), others);
  });
  expect(others.admitted / others.calls).toBeGreaterThanOrEqual(0.99);
  expect(loop.admitted).toBeLessThan(loop.calls / 10);
});
