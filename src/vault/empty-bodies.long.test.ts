/** An attack on one merchant's customers by bodies without a card, over HTTP. */

import { Agent, request } from "node:http";
import { afterAll, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { startVaultFixture, testCard } from "./vault.fixture.ts";
import { callLimits } from "./vault-limits.ts";

const bodies = 10_000;
const cardEvery = 250;

const agent = new Agent({ keepAlive: true, maxSockets: 340 });
const fixture = await forFile(() => startVaultFixture({ trustedProxies: ["127.0.0.1"] }));
afterAll(() => agent.destroy());

function post(authorization: string, address: string, body: string): Promise<number> {
  const headers = { authorization, "content-type": "application/json", "x-forwarded-for": address };
  const { port } = new URL(fixture.vault.origins.public);
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path: "/tokens", method: "POST", agent, headers }, (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.on("error", reject).end(body);
  });
}

it("10,000 bodies without a card refuse no honest card, also of customers in one office", {
  timeout: 180_000,
}, async () => {
  const grantOf = (session: string) => `Bearer ${fixture.grant(session)}`;
  const { burst: callsPerSession } = callLimits.session;
  const grants = Array.from({ length: Math.ceil(bodies / callsPerSession) }, (_, session) =>
    grantOf(`attack ${session}`),
  );
  const refused: number[] = [];
  const cards: Promise<number>[] = [];
  let sent = 0;
  let hasFailed = false;
  const attack = async () => {
    while (sent < bodies && !hasFailed) {
      const body = sent++;
      // Each from a network of its own: an order of callers alone would put the office last.
      const address = `93.${body >> 8}.${body & 255}.1`;
      const status = await post(grants[Math.floor(body / callsPerSession)]!, address, body % 2 ? "{}" : "");
      refused.push(status);
      if (body % cardEvery !== 0) continue;
      const card = post(grantOf(`customer ${body}`), "94.0.0.1", JSON.stringify(testCard));
      cards.push(card);
      hasFailed ||= (await card) !== 201;
    }
  };
  await Promise.all(Array.from({ length: 300 }, attack));
  expect(await Promise.all(cards)).toEqual(Array(bodies / cardEvery).fill(201));
  expect(refused).toEqual(Array(bodies).fill(400));
});
