import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Receiver } from "../../testing/receiver.ts";
import { SandboxControl } from "../../testing/sandbox-control.ts";
import { type Sandbox, startSandbox } from "../sandbox/main.ts";
import { cardFields } from "./card-fields.ts";

const merchantAccount = "TheShopECOM";
let sandbox: Sandbox;
let control: SandboxControl;
let intake: Receiver;
beforeAll(async () => {
  sandbox = await startSandbox({ port: 0 });
  control = new SandboxControl(sandbox.origin);
  intake = await Receiver.start();
  await control.setAccount(merchantAccount, { notificationUrl: intake.url, hmacKey: "ab".repeat(32) });
});
afterAll(async () => {
  await sandbox.close();
  await intake.close();
});

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

describe("Adyen's stand-in", () => {
  it("gives the first answer to every repeat of a key, errors too, and holds once", async () => {
    const first = await post("/payments", payment("att_repeat"), keyed("repeat"));
    expect(first).toMatchObject({ status: 200, body: { resultCode: "Authorised" } });
    expect(await post("/payments", payment("att_repeat"), keyed("repeat"))).toEqual(first);
    expect(await control.authorizations("att_repeat")).toHaveLength(1);
    const failing = { ...payment("att_kept"), returnUrl: undefined };
    expect(await post("/payments", failing, keyed("kept"))).toMatchObject({ status: 422 });
    expect(await post("/payments", payment("att_kept"), keyed("kept"))).toMatchObject({ status: 422 });
  });

  it("refuses for now, and keeps nothing, while the same key is worked on", async () => {
    await control.setCard("ADYEN", "4000000000002024", { act: "stay_silent" });
    const first = post("/payments", payment("att_busy", "4000000000002024"), keyed("busy")).catch(() => "hung up");
    await control.paused({ operation: "adyen.silence", reference: "att_busy" });
    const second = await post("/payments", payment("att_busy"), keyed("busy"));
    expect(second).toMatchObject({ status: 422, isTransient: true, body: { errorCode: "704" } });
    await control.release({ operation: "adyen.silence" });
    expect(await first).toBe("hung up");
    expect(await post("/payments", payment("att_busy"), keyed("busy"))).toMatchObject({ status: 500 });
  });

  it("knows no key, no account and no payment that is not there", async () => {
    expect(await post("/payments", payment("a"), { "x-api-key": "sk_test_1" })).toMatchObject({
      status: 401,
      body: { errorType: "security" },
    });
    const nobody = { ...payment("a"), merchantAccount: "" };
    expect(await post("/payments", nobody)).toMatchObject({ status: 403, body: { errorCode: "901" } });
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

  it("reports again, the same item, until it is answered", async () => {
    intake.answerWith({ status: 503 });
    const { pspReference } = (await post("/payments", payment("att_report"))).body;
    const isIt = ({ body }: { body: Buffer }) => body.includes(`"${pspReference}"`);
    await intake.waitFor(isIt);
    await control.paused({ operation: "adyen.notice-retry", reference: "att_report" });
    intake.answerWith({ status: 200 });
    await control.release({ operation: "adyen.notice-retry" });
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
