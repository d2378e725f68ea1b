/** An endpoint beside the shop's: shows all deliveries of a demo to both stock verifiers. */
import { createDashboardClient } from "../../client/dashboard-client.ts";
import { Secret } from "../../platform/secrets.ts";
import { type ReceivedRequest, Receiver } from "../testing/receiver.ts";
import { checkWebhooks } from "../testing/webhook-checker.ts";
import type { TestDemo } from "./demo.fixture.ts";

/** Finish it before the demo is closed. */
export type WebhookAudit = { finish(): Promise<void> };

/** Registers the endpoint for the shop's merchant; it accepts everything from now on. */
export async function auditWebhooks(demo: TestDemo): Promise<WebhookAudit> {
  const receiver = await Receiver.start();
  const dashboard = createDashboardClient(demo.file.grpcAddress, new Secret(demo.file.operatorToken));
  const scope = { merchantId: demo.file.merchants[0]!.merchantId, environment: "ENVIRONMENT_TEST" } as const;
  const url = `${receiver.url}/audit`;
  const { endpoint, signingSecret = "" } = await dashboard.endpoints.addWebhookEndpoint({ ...scope, url });
  const checker = checkWebhooks(async ({ origin }) => (origin === receiver.url ? [[signingSecret]] : []));
  const { verified } = await dashboard.endpoints.verifyWebhookEndpoint({ ...scope, endpointId: endpoint!.endpointId! });
  dashboard.close();
  return {
    /** Rejects if a verifier objected, a repeat had other bytes, a sequence had a gap, or nothing arrived. */
    async finish() {
      await receiver.close();
      await checker.finish();
      const webhooks = receiver.requests.slice(1);
      const wrong = findOtherBytes(webhooks).concat(findGaps(webhooks));
      if (wrong.length > 0) throw new Error(wrong.join("\n"));
      if (!verified || webhooks.length === 0) throw new Error("no webhook came");
      console.info(`${webhooks.length} webhooks shown to both stock verifiers`);
    },
  };
}

const idOf = ({ headers }: ReceivedRequest) => String(headers["webhook-id"]);

function findOtherBytes(webhooks: readonly ReceivedRequest[]): string[] {
  const first = new Map<string, Buffer>();
  return webhooks.flatMap((webhook) => {
    const before = first.get(idOf(webhook));
    if (before === undefined) first.set(idOf(webhook), webhook.body);
    return before === undefined || before.equals(webhook.body) ? [] : [`${idOf(webhook)} was sent with other bytes`];
  });
}

/** Everything is accepted at once, so that a session's first attempts arrive in the order of their numbers. */
function findGaps(webhooks: readonly ReceivedRequest[]): string[] {
  const last = new Map<string, number>();
  const seen = new Set<string>();
  return webhooks.flatMap((webhook) => {
    if (seen.has(idOf(webhook))) return [];
    seen.add(idOf(webhook));
    const { sessionId, sequence } = JSON.parse(webhook.body.toString()).data;
    const expected = (last.get(sessionId) ?? 0) + 1;
    last.set(sessionId, sequence);
    return sequence === expected ? [] : [`${sessionId}: event ${sequence} came where ${expected} was due`];
  });
}
