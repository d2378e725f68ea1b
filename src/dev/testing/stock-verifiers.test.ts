import { describe, expect, it } from "vitest";
import { signWebhook } from "../../events/signature.ts";
import { generateSigningSecret } from "../../events/signing-secrets.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { Receiver } from "./receiver.ts";
import { objectionsTo, tamperingNames } from "./stock-verifiers.ts";
import { checkWebhooks } from "./webhook-checker.ts";

const newSecret = () => generateSigningSecret(systemRuntime, "switchyard_test_whsec_");
const [secret, previous] = [newSecret(), newSecret()];
const both = [secret.expose(), previous.expose()];
const body = Buffer.from('{"id":"evt_1","note":"Zoë 支払い"}');
const send = (secrets = [secret, previous], sentAt = new Date()) => ({
  body,
  headers: { ...signWebhook({ id: "evt_1", sentAt, body, secrets }) },
});

describe("objectionsTo()", () => {
  it("has none to a webhook of the service, with one secret and with two", () => {
    expect(objectionsTo(send([secret]), [secret.expose()])).toEqual([]);
    expect(objectionsTo(send(), both)).toEqual([]);
  });

  it("names each verifier that refuses it with one of the secrets", () => {
    const refused = ["evt_1: standardwebhooks refuses it", "evt_1: svix refuses it"];
    expect(objectionsTo(send([secret]), both)).toEqual(refused);
    expect(objectionsTo({ ...send([secret]), body: Buffer.from("{}") }, [secret.expose()])).toEqual(refused);
    expect(objectionsTo(send([secret], new Date(Date.now() - 310_000)), [secret.expose()])).toEqual(refused);
    expect(objectionsTo({ body, headers: {} }, [secret.expose()])).toEqual(
      refused.map((text) => text.replace("evt_1", "undefined")),
    );
  });

  it("objects to a webhook without a known secret", () => {
    expect(objectionsTo(send(), [])).toEqual(["evt_1: no secret is known for it"]);
  });

  it("tries nine ways to tamper", () => {
    expect(tamperingNames).toHaveLength(9);
  });
});

describe("checkWebhooks()", () => {
  it("reports a webhook that the verifiers refuse, and none that they accept", async () => {
    const receiver = await Receiver.start();
    const post = (webhook: ReturnType<typeof send>) =>
      fetch(receiver.url, { method: "POST", headers: webhook.headers, body: new Uint8Array(webhook.body) });
    const watchful = checkWebhooks(async () => [[secret.expose()]]);
    await post(send());
    expect(watchful.seen()).toBe(1);
    await watchful.finish();
    const alarmed = checkWebhooks(async () => [[secret.expose()]]);
    await post(send([previous]));
    await expect(alarmed.finish()).rejects.toThrow("evt_1: svix refuses it");
    await receiver.close();
  });
});
