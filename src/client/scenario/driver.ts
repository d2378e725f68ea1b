/** Makes the calls that the scenario asks for by the Node client: a line of JSON with the set-up, then one for each. */
import { createInterface } from "node:readline";
import { ApiError } from "../merchant/api-error.ts";
import { RestClient } from "../merchant/rest-client.ts";
import { RestError } from "../merchant/rest-error.ts";
import { verifyWebhook, WebhookVerificationError } from "../merchant/verify-webhook.ts";

type Call = { readonly name: string; readonly client: string; readonly args: readonly unknown[]; options?: object };

type Setup = { readonly bases: Readonly<Record<string, string>>; readonly secretKey: string };

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { bases, secretKey }: Setup = JSON.parse((await lines.next()).value ?? "{}");
const clients = Object.fromEntries(
  Object.entries(bases).map(([name, restBase]) => [name, new RestClient({ restBase, secretKey })]),
);

async function answer({ name, client, args, options }: Call): Promise<unknown> {
  if (name === "verifyWebhook") {
    const [body, headers, secrets] = args as [string, Record<string, string>, string];
    return verifyWebhook({ body, headers, secrets });
  }
  const methods = clients[client] as unknown as Record<string, (...args: unknown[]) => unknown>;
  // The Node client takes the part to capture as an object.
  const given = name === "captureSession" ? [args[0], { amountMinor: args[1] }] : args;
  const found = await methods[name]!(...given, ...(options ? [options] : []));
  return Symbol.asyncIterator in Object(found) ? Array.fromAsync(found as AsyncIterable<unknown>) : found;
}

function failure(error: unknown): object {
  if (error instanceof WebhookVerificationError) return { refused: error.reason };
  if (!(error instanceof ApiError)) return { mistake: (error as Error).message };
  const { code, isTemporary: temporary, param = null, problems, tries, idempotencyKey = null, message } = error;
  const status = (error instanceof RestError && error.status) || null;
  return { message, error: { code, status, temporary, param, problems, tries, idempotencyKey } };
}

for await (const line of { [Symbol.asyncIterator]: () => lines }) {
  const result = await answer(JSON.parse(line)).then((answer) => ({ answer }), failure);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
