import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DashboardClient } from "../client/dashboard-client.ts";
import { readCases } from "./case-file.ts";
import { describePolicy, describeSplit, parseSplit, readRule } from "./routing-draft.ts";

it("reads the share and the connections of --split, and refuses everything else", () => {
  expect(parseSplit("20:gc_1,gc_2")).toEqual({ percent: 20, connectionIds: ["gc_1", "gc_2"] });
  expect(parseSplit("none")).toEqual({ percent: 0, connectionIds: [] });
  for (const text of ["0:gc_1", "100:gc_1", "20:", "gc_1", "-5:gc_1", "20 %:gc_1"]) {
    expect(() => parseSplit(text), text).toThrow("It must be a share from 1 to 99");
  }
});

it("shows a split with the names of its gateways", () => {
  const nameOf = () => ({ gateway: "SANDBOX_B", account: "x" });
  expect(describeSplit(parseSplit("20:gc_1"), nameOf)).toEqual(["20 % to variant B: SANDBOX_B"]);
  expect(describeSplit(undefined, nameOf)).toEqual([]);
});

it("names the file, the case, the key and the rule of a case file that has another form", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cases-"));
  const file = join(folder, "cases.json");
  const read = (one: object) => {
    writeFileSync(file, JSON.stringify({ list: [{ name: "Amex big", connectionIds: ["gc_1"], ...one }] }));
    return readCases(file);
  };
  const refusal = (one: object) => read(one).catch(String);
  const where = `UsageError: ${file}: Case "Amex big": `;
  const end = " See docs/routing-cases.md.";
  try {
    expect(await refusal({ conditions: { currncies: ["EUR"] } })).toMatch(
      `${where}key "currncies" is unknown; the keys are currencies, amountFromMinor, amountToMinor, `,
    );
    expect(await refusal({ conditions: { amountFromMinor: "ten" } })).toBe(
      `${where}"amountFromMinor": expected a whole number.${end}`,
    );
    expect(await refusal({ conditions: { cardTypes: ["GOLD"] } })).toBe(
      `${where}"GOLD" is not one of CREDIT, DEBIT, PREPAID.${end}`,
    );
    expect(await refusal({ conditions: [] })).toMatch(`${where}this must be an object; the keys are currencies, `);
    expect(await read({ conditions: { amountFromMinor: "5" } })).toMatchObject({ list: [{ name: "Amex big" }] });
    writeFileSync(file, '{"lst": []}');
    await expect(readCases(file)).rejects.toThrow(`${file}: key "lst" is unknown; the keys are list, cardRanges.`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe("readRule()", () => {
  const scope = { merchantId: "mer_1", environment: "ENVIRONMENT_LIVE" } as const;
  const rulesWith = (answer: { routingRule?: object }) =>
    ({ getRoutingRule: async () => answer }) as unknown as DashboardClient["routingRules"];

  it("gives a merchant's first rule failover after every failure that allows it, as the service's interface says", async () => {
    expect(await readRule(rulesWith({}), scope, { connections: "gc_1,gc_2" })).toEqual({
      connectionIds: ["gc_1", "gc_2"],
      failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"],
      expectedVersion: 0,
    });
  });

  it("changes the named parts of the policy, and keeps the others of the newest version", async () => {
    const newest = { version: 3, connectionIds: ["gc_1"], policy: { stopsIfUnavailable: true } };
    const { policy } = await readRule(rulesWith({ routingRule: newest }), scope, { withoutBrowser: "pay" });
    expect(policy).toEqual({ stopsIfUnavailable: true, withoutBrowser: "PAY" });
    expect(describePolicy({ policy: policy! })).toEqual(["on-unavailable stop", "without-browser pay"]);
    const back = await readRule(rulesWith({ routingRule: { ...newest, policy } }), scope, {
      withoutBrowser: "decline",
    });
    expect(describePolicy({ policy: back.policy! })).toEqual(["on-unavailable stop"]);
  });

  it("keeps the switches of the newest version, also where all are off", async () => {
    const newest = { version: 3, connectionIds: ["gc_1"] };
    expect(await readRule(rulesWith({ routingRule: newest }), scope, { connections: "gc_2" })).toEqual({
      connectionIds: ["gc_2"],
      failoverOn: [],
      expectedVersion: 3,
    });
  });
});
