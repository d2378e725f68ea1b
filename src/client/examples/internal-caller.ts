/**
 * An internal service: creates a payment session over gRPC, reads it, and goes through all of its order's sessions.
 *
 * Run it beside `npm start`, with the secret key of docs/integration.md, "Before you begin":
 *
 *     GRPC_ADDRESS=127.0.0.1:4401 npx node src/client/examples/internal-caller.ts
 *
 * It prints what it did, and ends.
 */
import { randomUUID } from "node:crypto";
import { PaymentSession_Status } from "../../../gen/payments/v1/payment_session_pb.ts";
import { ApiError } from "../merchant/api-error.ts";
import { PaymentSessionsClient } from "../payment-sessions-client.ts";

const { GRPC_ADDRESS, SECRET_KEY } = process.env;
if (!GRPC_ADDRESS || !SECRET_KEY) {
  console.error("Set GRPC_ADDRESS (host:port) and SECRET_KEY.");
  process.exit(1);
}

// With `tls` the connection is encrypted; with a client's key and certificate in it, both sides prove who they are.
const payments = new PaymentSessionsClient({ address: GRPC_ADDRESS, secretKey: SECRET_KEY });
const orderRef = `order-${randomUUID()}`;
try {
  const { sessionId } = await payments.createSession(
    { amountMinor: 4900n, currency: "EUR", orderRef },
    { idempotencyKey: `${orderRef}-1`, timeoutMs: 10_000 },
  );
  const session = await payments.getSession(sessionId);
  console.log(sessionId, session.status === PaymentSession_Status.CREATED ? "waits for a card" : "has ended");
  for await (const each of payments.eachSession({ orderRef })) {
    console.log(`${each.orderRef}: ${each.amountMinor} ${each.currency}`);
  }
  // The same key with another amount is refused, and not repeated.
  await payments.createSession({ amountMinor: 1n, currency: "EUR", orderRef }, { idempotencyKey: `${orderRef}-1` });
} catch (error) {
  if (!(error instanceof ApiError)) throw error;
  console.log(`refused: ${error.code} after ${error.tries} request`);
} finally {
  await payments.close();
}
