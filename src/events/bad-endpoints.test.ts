import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { systemEntropy } from "../platform/entropy.ts";
import { Secret } from "../platform/secrets.ts";
import { TestAuthority } from "../testing/certificates.ts";
import { sendWebhook } from "./deliver.ts";
import { Egress } from "./egress.ts";
import { badEndpoints, RunningBadEndpoint } from "./testing/bad-endpoints.ts";

const open = { httpsOnly: false, ports: undefined, openings: ["127.0.0.1/32", "::1/128"] };
const secrets = [new Secret(`whsec_${Buffer.alloc(24, 7).toString("base64")}`)];
// The product's 15 s, shortened.
const postTimeoutMs = 700;
let authority: TestAuthority;
const publicAuthorities = getCACertificates("default");
beforeAll(() => {
  authority = new TestAuthority("Test Authority");
  setDefaultCACertificates([...publicAuthorities, authority.cert]);
});
afterAll(() => {
  setDefaultCACertificates(publicAuthorities);
  authority.close();
});

async function tryOnce(kind: string) {
  const bad = await RunningBadEndpoint.start(badEndpoints[kind]!, authority);
  onTestFinished(() => bad.close());
  const egress = new Egress(open, { postTimeoutMs });
  onTestFinished(() => egress.close());
  const webhook = { url: bad.url, eventId: "evt_1", body: Buffer.from('{"a":1}'), secrets };
  return { bad, tried: await sendWebhook({ egress, entropy: systemEntropy }, webhook) };
}

describe("sendWebhook() to an endpoint that", () => {
  it.each(Object.entries(badEndpoints))(
    "%s says so, in time, and lets go of its connection",
    async (kind, expected) => {
      const { bad, tried } = await tryOnce(kind);
      expect(tried.kind === "answered" ? tried.statusCode : tried.because).toBe(expected.outcome);
      if (expected.takesAllTime) expect(tried.durationMs).toBeGreaterThanOrEqual(postTimeoutMs - 10);
      else expect(tried.durationMs).toBeLessThan(postTimeoutMs);
      // After an honest answer at most for the 4 s in which it could be used again.
      await bad.empty();
      expect(bad.connections).toBeLessThanOrEqual(1);
    },
  );

  it("takes the whole deadline is tried by two hundred at once in little more than the time of one", async () => {
    const bad = await RunningBadEndpoint.start(badEndpoints["accepts and says nothing"]!, authority);
    onTestFinished(() => bad.close());
    const egress = new Egress(open, { postTimeoutMs });
    onTestFinished(() => egress.close());
    const post = () => egress.post(bad.url, {}, Buffer.from("{}")).catch(() => "over");
    const started = performance.now();
    await Promise.all(Array.from({ length: 200 }, post));
    expect(performance.now() - started).toBeLessThan(5 * postTimeoutMs);
    expect(bad.connections).toBe(200);
    await bad.empty();
  });

  it("sends a gzip bomb has its compressed beginning kept, as it came", async () => {
    const { tried } = await tryOnce("sends a gzip bomb");
    expect(tried).toMatchObject({ kind: "answered", answer: expect.stringMatching(/^.{1,1100}$/su) });
  });
});
