import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SandboxControl } from "../dev/testing/sandbox-control.ts";
import { type Sandbox, startSandbox } from "./main.ts";

describe("startSandbox()", () => {
  let sandbox: Sandbox;
  let control: SandboxControl;
  beforeAll(async () => {
    sandbox = await startSandbox({ port: 0 });
    control = new SandboxControl(sandbox.origin);
  });
  afterAll(() => sandbox.close());

  const authorize = (fields: Record<string, string>, idempotencyKey: string) =>
    fetch(`${sandbox.origin}/a/v1/authorizations`, {
      method: "POST",
      headers: { authorization: "Bearer sandbox_test_acme", "idempotency-key": idempotencyKey },
      body: new URLSearchParams({
        amount: "4900",
        currency: "EUR",
        capture_method: "manual",
        "card[number]": "4242424242424242",
        ...fields,
      }),
    });

  it("refuses an idempotency key reused with other content", async () => {
    expect((await authorize({ reference: "r1" }, "k1")).status).toBe(200);
    expect((await authorize({ reference: "r1", amount: "4901" }, "k1")).status).toBe(409);
    expect(await control.authorizations("r1")).toHaveLength(1);
  });

  it("holds twice when one reference arrives under two keys, as a real gateway would", async () => {
    await authorize({ reference: "r2" }, "k2");
    await authorize({ reference: "r2" }, "k3");
    expect(await control.authorizations("r2")).toHaveLength(2);
  });

  it("counts requests by operation and reference", async () => {
    await authorize({ reference: "r3" }, "k4");
    await authorize({ reference: "r3" }, "k4");
    expect(await control.requests("r3")).toEqual({ "a.authorize": 2 });
  });

  it("shows no more of a card than its last four digits", async () => {
    await authorize({ reference: "r4" }, "k5");
    const shown = JSON.stringify([await control.authorizations("r4"), await control.requests()]);
    expect(shown).toContain('"4242"');
    expect(shown).not.toContain("42424242");
  });

  it("forbids to guess the content type of any answer", async () => {
    const answers = [authorize({ reference: "r0" }, "k0"), fetch(`${sandbox.origin}/nothing`)];
    for (const { headers } of await Promise.all(answers)) expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("declines a card that is not on the list", async () => {
    expect((await authorize({ reference: "r5", "card[number]": "4111111111111111" }, "k6")).status).toBe(402);
  });

  it("holds back an answer until it is released", async () => {
    await control.hold("a.authorize");
    const answer = authorize({ reference: "r6" }, "k7");
    await control.paused({ operation: "a.authorize", reference: "r6" });
    await control.release({ operation: "a.authorize" });
    expect((await answer).status).toBe(200);
  });

  it.each([
    ["the request for", "4000000000005043", "held"],
    ["the answer to", "4000000000002081", "captured"],
  ])("loses %s the first capture of a card, and carries out the second once", async (_what, number, between) => {
    const reference = `lost-${number}`;
    const { id } = (await (await authorize({ reference, "card[number]": number }, reference)).json()) as { id: string };
    const capture = () =>
      fetch(`${sandbox.origin}/a/v1/authorizations/${id}/capture`, {
        method: "POST",
        headers: { authorization: "Bearer sandbox_test_acme", "idempotency-key": `${reference}_cap` },
      });
    const lost = capture().then(
      () => "answered",
      () => "no answer",
    );
    await control.paused({ operation: "a.lost-capture", reference });
    expect(await control.authorizations(reference)).toMatchObject([{ status: between }]);
    await control.release({ operation: "a.lost-capture", reference });
    expect(await lost).toBe("no answer");
    expect((await capture()).status).toBe(200);
    expect(await control.authorizations(reference)).toMatchObject([{ status: "captured", capturedValue: 4900 }]);
  });

  const captured = async (reference: string, number: string) => {
    const { id } = (await (await authorize({ reference, "card[number]": number }, reference)).json()) as { id: string };
    await fetch(`${sandbox.origin}/a/v1/authorizations/${id}/capture`, {
      method: "POST",
      headers: { authorization: "Bearer sandbox_test_acme", "idempotency-key": `${reference}_cap` },
    });
    return id;
  };
  const refund = (id: string, amount: number, key: string) =>
    fetch(`${sandbox.origin}/a/v1/authorizations/${id}/refunds`, {
      method: "POST",
      headers: { authorization: "Bearer sandbox_test_acme", "idempotency-key": key },
      body: new URLSearchParams({ amount: String(amount), currency: "EUR", reference: key }),
    });

  it("loses the answer to the first refund of a card, and makes it once", async () => {
    const id = await captured("lost-refund", "4000000000007205");
    const lost = refund(id, 4900, "ref_lost").then(
      () => "answered",
      () => "no answer",
    );
    await control.paused({ operation: "a.lost-refund", reference: "lost-refund" });
    await control.release({ operation: "a.lost-refund", reference: "lost-refund" });
    expect(await lost).toBe("no answer");
    expect((await refund(id, 4900, "ref_lost")).status).toBe(200);
    const [payment] = await control.authorizations("lost-refund");
    expect(payment!.refunds).toMatchObject([{ reference: "ref_lost", value: 4900, status: "succeeded" }]);
  });

  it("refunds half of a card's payment by hand, seconds after its capture", async () => {
    const id = await captured("by-hand", "4000000000007221");
    expect((await control.authorizations("by-hand"))[0]!.refunds).toEqual([]);
    await control.setClockAhead(6_000);
    await control.setClockAhead(0);
    expect((await control.authorizations("by-hand"))[0]!.refunds).toMatchObject([{ reference: "", value: 2450 }]);
    expect((await refund(id, 2451, "ref_more")).status).toBe(409);
    expect((await refund(id, 2450, "ref_rest")).status).toBe(200);
  });

  it("refunds nothing that is not captured, and nothing of another account", async () => {
    const { id } = (await (await authorize({ reference: "r-held" }, "r-held")).json()) as { id: string };
    expect(await (await refund(id, 4900, "ref_held")).json()).toMatchObject({ error: { code: "not_captured" } });
    const other = await fetch(`${sandbox.origin}/a/v1/authorizations/${id}/refunds`, {
      headers: { authorization: "Bearer sandbox_test_other" },
    });
    expect(other.status).toBe(404);
  });

  it("keeps one account's payments from another", async () => {
    const { id } = (await (await authorize({ reference: "r7" }, "k8")).json()) as { id: string };
    const read = (key: string) =>
      fetch(`${sandbox.origin}/a/v1/authorizations/${id}`, { headers: { authorization: `Bearer ${key}` } });
    expect((await read("sandbox_test_acme")).status).toBe(200);
    expect((await read("sandbox_test_other")).status).toBe(404);
    expect((await read("sandbox_live_acme")).status).toBe(404);
  });

  it("answers an unknown path and an oversized body without stopping", async () => {
    expect((await fetch(`${sandbox.origin}/nothing`)).status).toBe(404);
    expect((await authorize({ reference: "x".repeat(70_000) }, "k9")).status).toBe(413);
    expect((await authorize({ reference: "r8" }, "k10")).status).toBe(200);
  });
});

describe("Sandbox.close()", () => {
  it("releases its port even if a request is still paused", async () => {
    const sandbox = await startSandbox({ port: 0 });
    const control = new SandboxControl(sandbox.origin);
    await control.hold("a.account");
    const abandoned = fetch(`${sandbox.origin}/a/v1/account`, {
      headers: { authorization: "Bearer sandbox_test_acme" },
    }).then(
      () => "answered",
      () => "cut",
    );
    await control.paused({ operation: "a.account" });
    await sandbox.close();
    expect(await abandoned).toBe("cut");
    const again = await startSandbox({ port: Number(new URL(sandbox.origin).port) });
    await again.close();
  });
});
