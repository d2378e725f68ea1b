/** The merchants and endpoints of a scale run; some endpoints are dead in one of three ways. */
import { registerEndpoint } from "../../../events/endpoints.ts";
import { encodeId } from "../../../platform/ids.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import { ReceiverProcess, type Route } from "./receiver-process.ts";
import type { WebhookSite } from "./webhook-site.ts";

/** An endpoint's behaviour: healthy, or one of the ways in which endpoints die. */
export type Manner = "healthy" | "refused" | "hanging" | "failing";

/** An endpoint of the run. `id` is its public one. */
type ScaleEndpoint = {
  readonly id: string;
  readonly path: string;
  readonly manner: Manner;
  readonly secret: string;
};

/** A merchant of the run with its endpoints; its id is a UUID. */
export type ScaleMerchant = { readonly merchantId: string; readonly endpoints: readonly ScaleEndpoint[] };

const deadManners: readonly Manner[] = ["refused", "hanging", "failing"];
// Every second merchant has two endpoints: a dead one beside a healthy one, and events that go to both.
const merchantsInAll = 40;
export const endpointsInAll = 60;

const mannerOfRoute: Readonly<Record<Manner, Route["manner"]>> = {
  healthy: "accept",
  refused: "accept",
  hanging: "hang",
  failing: "refuse",
};

/** Registers all endpoints, enabled; `deadPercent` of them are dead, in each way by turns. */
export async function openEndpoints(
  site: WebhookSite,
  parts: { healthy: ReceiverProcess; dead: ReceiverProcess; deadPercent: number },
): Promise<ScaleMerchant[]> {
  const closedOrigin = await unusedOrigin();
  const origins = {
    healthy: parts.healthy.origin,
    refused: closedOrigin,
    hanging: parts.dead.origin,
    failing: parts.dead.origin,
  };
  const merchants = Array.from({ length: merchantsInAll }, () => ({
    merchantId: systemRuntime.uuid(),
    endpoints: [] as ScaleEndpoint[],
  }));
  for (let number = 0; number < endpointsInAll; number++) {
    const { merchantId, endpoints } = merchants[number % merchantsInAll]!;
    const manner = mannerOf(number, parts.deadPercent);
    const path = `/webhooks/${number}`;
    const wanted = { merchantId, url: origins[manner] + path };
    const { endpoint, signingSecret } = await registerEndpoint(site.environment.endpoints, wanted);
    endpoints.push({ id: encodeId("we", endpoint.id), path, manner, secret: signingSecret.expose() });
  }
  await site.query("UPDATE endpoint SET status = 'ENABLED', verified_at = app.clock()");
  for (const receiver of [parts.healthy, parts.dead]) await receiver.trust(routesOf(merchants));
  return merchants;
}

/** Spreads the dead ones evenly, so that each merchant has at most one. */
function mannerOf(number: number, deadPercent: number): Manner {
  const deadBefore = Math.floor((number * deadPercent) / 100);
  const isDead = Math.floor(((number + 1) * deadPercent) / 100) > deadBefore;
  return isDead ? deadManners[deadBefore % deadManners.length]! : "healthy";
}

function routesOf(merchants: readonly ScaleMerchant[]): Record<string, Route> {
  const endpoints = merchants.flatMap((merchant) => merchant.endpoints);
  return Object.fromEntries(
    endpoints.map(({ path, secret, manner }) => [path, { secret, manner: mannerOfRoute[manner] }]),
  );
}

/** Returns an origin whose port a server used a moment ago, and which has no listener. */
async function unusedOrigin(): Promise<string> {
  const receiver = await ReceiverProcess.start();
  await receiver.close();
  return receiver.origin;
}
