import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { TestAuthority } from "../dev/testing/certificates.ts";
import { badEndpoints, RunningBadEndpoint } from "../dev/testing/events/bad-endpoints.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { Secret } from "../platform/secrets.ts";
import { sendWebhook } from "./deliver.ts";
import { Egress } from "./egress.ts";

const open = { httpsOnly: false, ports: undefined, openings: ["127.0.0.1/32", "::1/128"] };
const secrets = [new Secret(`whsec_${Buffer.alloc(24, 7).toString("base64")}`)];
// The product's 15 s, shortened.
const postTimeoutMs = 700;
const publicAuthorities = getCACertificates("default");
const authority = await forFile(() => new TestAuthority("Test Authority"));
setDefaultCACertificates([...publicAuthorities, authority.cert]);
afterAll(() => setDefaultCACertificates(publicAuthorities));

// What ends by itself has longer: a busy machine is slow to send what is refused.
const patientMs = 10_000;

async function tryOnce(kind: string) {
  const bad = await RunningBadEndpoint.start(badEndpoints[kind]!, authority);
  const timeoutMs = badEndpoints[kind]!.takesAllTime ? postTimeoutMs : patientMs;
  onTestFinished(() => bad.close());
  const egress = new Egress(open, { postTimeoutMs: timeoutMs });
  onTestFinished(() => egress.close());
  const webhook = { url: bad.url, eventId: "evt_1", body: Buffer.from('{"a":1}'), secrets };
  return { bad, attempt: await sendWebhook({ egress, runtime: systemRuntime }, webhook) };
}

describe("sendWebhook() to an endpoint that", () => {
  it.each(Object.entries(badEndpoints))(
    "%s ends in time with the expected result, and releases its connection",
    async (kind, expected) => {
      const { bad, attempt } = await tryOnce(kind);
      expect(attempt.type === "answered" ? attempt.statusCode : attempt.reason).toBe(expected.outcome);
      if (expected.takesAllTime) expect(attempt.durationMs).toBeGreaterThanOrEqual(postTimeoutMs - 10);
      else expect(attempt.durationMs).toBeLessThan(patientMs);
      // After an honest answer, the connection stays for at most the 4 s in which it could be reused.
      await bad.empty();
      expect(bad.connections).toBeLessThanOrEqual(1);
    },
  );

  it("takes the whole deadline delays two hundred concurrent posts little more than one", async () => {
    const bad = await RunningBadEndpoint.start(badEndpoints["accepts and says nothing"]!, authority);
    onTestFinished(() => bad.close());
    // A busy machine, too, opens two hundred connections in this time.
    const timeoutMs = 3_000;
    const egress = new Egress(open, { postTimeoutMs: timeoutMs });
    onTestFinished(() => egress.close());
    const post = () => egress.post(bad.url, {}, Buffer.from("{}")).catch(() => "over");
    const started = performance.now();
    await Promise.all(Array.from({ length: 200 }, post));
    expect(performance.now() - started).toBeLessThan(5 * timeoutMs);
    expect(bad.connections).toBe(200);
    await bad.empty();
  });

  it("sends a gzip bomb has its compressed beginning kept as received", async () => {
    const { attempt } = await tryOnce("sends a gzip bomb");
    expect(attempt).toMatchObject({ type: "answered", answer: expect.stringMatching(/^.{1,1100}$/su) });
  });
});
