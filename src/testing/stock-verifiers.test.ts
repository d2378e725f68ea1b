import { describe, expect, it } from "vitest";
import { signWebhook } from "../events/signature.ts";
import { generateSigningSecret } from "../events/signing-secrets.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { Receiver } from "./receiver.ts";
import { objectionsTo, tamperingNames } from "./stock-verifiers.ts";
import { witnessWebhooks } from "./webhook-witness.ts";

const newSecret = () => generateSigningSecret(systemEntropy, "switchyard_test_whsec_");
const [secret, previous] = [newSecret(), newSecret()];
const both = [secret.expose(), previous.expose()];
const body = Buffer.from('{"id":"evt_1","note":"Zoë 支払い"}');
const send = (secrets = [secret, previous], sentAt = new Date()) => ({
  body,
  headers: { ...signWebhook({ id: "evt_1", sentAt, body, secrets }) },
});

describe("objectionsTo()", () => {
  it("has none to what the service signs, with one secret and with two", () => {
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

  it("objects to a webhook that nobody has a secret for", () => {
    expect(objectionsTo(send(), [])).toEqual(["evt_1: nobody has a secret for it"]);
  });

  it("tries nine ways to tamper", () => {
    expect(tamperingNames).toHaveLength(9);
  });
});

describe("witnessWebhooks()", () => {
  it("tells of a webhook that the verifiers refuse, and of none that they accept", async () => {
    const receiver = await Receiver.start();
    const post = (webhook: ReturnType<typeof send>) =>
      fetch(receiver.url, { method: "POST", headers: webhook.headers, body: new Uint8Array(webhook.body) });
    const watchful = witnessWebhooks(async () => [[secret.expose()]]);
    await post(send());
    expect(watchful.seen()).toBe(1);
    await watchful.finish();
    const alarmed = witnessWebhooks(async () => [[secret.expose()]]);
    await post(send([previous]));
    await expect(alarmed.finish()).rejects.toThrow("evt_1: svix refuses it");
    await receiver.close();
  });
});
