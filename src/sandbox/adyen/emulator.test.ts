import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { Receiver } from "../../dev/testing/receiver.ts";
import { SandboxControl } from "../../dev/testing/sandbox-control.ts";
import { cardFields } from "../../gateways/adyen/card-fields.ts";
import { startSandbox } from "../main.ts";

const merchantAccount = "TheShopECOM";
const sandbox = await forFile(() => startSandbox({ port: 0 }));
const control = new SandboxControl(sandbox.origin);
const intake = await forFile(() => Receiver.start());
await control.setAccount(merchantAccount, { notificationUrl: intake.url, hmacKey: "ab".repeat(32) });

type Answer = { status: number; isTransient: boolean; body: Record<string, unknown> };

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${sandbox.origin}/v72${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "AQEanykeyofthemerchant", ...headers },
    body: JSON.stringify({ merchantAccount, ...body }),
  });
  return {
    status: response.status,
    isTransient: response.headers.get("transient-error") === "true",
    body: (await response.json()) as Answer["body"],
  };
}

const amount = { value: 4900, currency: "EUR" };
const payment = (reference: string, number = "4111111111111111") => ({
  ...cardFields,
  paymentMethod: { type: "scheme", number, expiryMonth: "03", expiryYear: "2030", cvc: "737" },
  reference,
  amount,
});
const keyed = (key: string) => ({ "idempotency-key": key });

describe("Adyen's emulator", () => {
  it("keeps the error of a fault for the key, and forgets keys after a week", async () => {
    const pay = () => post("/payments", payment("att_fault"), keyed("fault"));
    await control.setFaults({ seed: "kept", rates: { error_kept: 1 }, lateMsMax: 0 });
    expect(await pay()).toMatchObject({ status: 500, isTransient: false });
    await control.setFaults();
    expect(await pay()).toMatchObject({ status: 500 });
    await control.setClockAhead(7 * 24 * 3_600_000);
    expect(await pay()).toMatchObject({ status: 200, body: { resultCode: "Authorised" } });
    await control.setClockAhead(0);
  });

  it("sends a lost notification once the faults have ended", async () => {
    await control.setFaults({ seed: "lost", rates: { notification_lost: 1 }, lateMsMax: 0 });
    await post("/payments", payment("att_lost"));
    await control.paused({ operation: "fault" });
    const isAboutIt = ({ body }: { body: Buffer }) => body.includes('"att_lost"');
    expect(intake.requests.filter(isAboutIt)).toEqual([]);
    await control.setFaults();
    await intake.waitFor(isAboutIt);
  });

  it("repeats the first answer for a key, errors too, and holds once", async () => {
    const first = await post("/payments", payment("att_repeat"), keyed("repeat"));
    expect(first).toMatchObject({ status: 200, body: { resultCode: "Authorised" } });
    expect(await post("/payments", payment("att_repeat"), keyed("repeat"))).toEqual(first);
    expect(await control.authorizations("att_repeat")).toHaveLength(1);
    const failing = { ...payment("att_kept"), returnUrl: undefined };
    expect(await post("/payments", failing, keyed("kept"))).toMatchObject({ status: 422 });
    expect(await post("/payments", payment("att_kept"), keyed("kept"))).toMatchObject({ status: 422 });
  });

  it("refuses for now, and stores nothing, while the same key is in progress", async () => {
    await control.setCard("ADYEN", "4000000000002024", { act: "stay_silent" });
    const first = post("/payments", payment("att_busy", "4000000000002024"), keyed("busy")).catch(() => "hung up");
    await control.paused({ operation: "adyen.silence", reference: "att_busy" });
    const second = await post("/payments", payment("att_busy"), keyed("busy"));
    expect(second).toMatchObject({ status: 422, isTransient: true, body: { errorCode: "704" } });
    await control.release({ operation: "adyen.silence" });
    expect(await first).toBe("hung up");
    expect(await post("/payments", payment("att_busy"), keyed("busy"))).toMatchObject({ status: 500 });
  });

  it("refuses an unknown key, account or payment", async () => {
    expect(await post("/payments", payment("a"), { "x-api-key": "sk_test_1" })).toMatchObject({
      status: 401,
      body: { errorType: "security" },
    });
    const unnamed = { ...payment("a"), merchantAccount: "" };
    expect(await post("/payments", unnamed)).toMatchObject({ status: 403, body: { errorCode: "901" } });
    for (const action of ["captures", "cancels"]) {
      const missing = await post(`/payments/0123456789ABCDEF/${action}`, { amount, reference: "a" });
      expect(missing).toMatchObject({ status: 422, body: { errorCode: "167" } });
    }
  });

  it("does not open one account's payment to another", async () => {
    const { pspReference } = (await post("/payments", payment("att_mine"))).body;
    const theirs = { merchantAccount: "AnotherShopECOM", amount, reference: "att_mine" };
    expect(await post(`/payments/${pspReference}/captures`, theirs)).toMatchObject({ status: 422 });
    expect(await post(`/payments/${pspReference}/cancels`, theirs)).toMatchObject({ status: 422 });
  });

  it("repeats the same item until it is answered", async () => {
    intake.answerWith({ status: 503 });
    const { pspReference } = (await post("/payments", payment("att_report"))).body;
    const isIt = ({ body }: { body: Buffer }) => body.includes(`"${pspReference}"`);
    await intake.waitFor(isIt);
    await control.paused({ operation: "adyen.notification-retry", reference: "att_report" });
    intake.answerWith({ status: 200 });
    await control.release({ operation: "adyen.notification-retry" });
    const [first, second] = await intake.waitForCount(2, isIt);
    expect(second?.body).toEqual(first?.body);
    expect(JSON.parse(first!.body.toString())).toMatchObject({
      live: "false",
      notificationItems: [
        { NotificationRequestItem: { eventCode: "AUTHORISATION", merchantAccountCode: merchantAccount, amount } },
      ],
    });
  });
});
