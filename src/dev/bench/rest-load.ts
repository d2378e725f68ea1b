/** Creates sessions over REST in a separate process, each with its own Idempotency-Key. */
import { randomUUID } from "node:crypto";
import { Pool } from "undici";
import { answerParent } from "../testing/child-process.ts";
import { generateLoad, type LoadOrder, order } from "./load.ts";

async function load(wanted: LoadOrder) {
  const pool = new Pool(`http://${wanted.address}`, { connections: wanted.callers, pipelining: 1 });
  const run = randomUUID();
  try {
    return await generateLoad(wanted, (number) => create(pool, wanted.secretKey, `${run}-${number}`));
  } finally {
    await pool.close();
  }
}

// The cheapest request of undici: the generator's cost reduces the processor time of the tested server.
function create(pool: Pool, secretKey: string, key: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${secretKey}`,
      "content-type": "application/json",
      "idempotency-key": key,
    };
    const body = JSON.stringify({ ...order, orderRef: key });
    const chunks: Buffer[] = [];
    let status = 0;
    pool.dispatch(
      { method: "POST", path: "/api/v1/payment-sessions", headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, statusCode) {
          status = statusCode;
        },
        onResponseData(_controller, chunk) {
          chunks.push(chunk);
        },
        onResponseEnd() {
          if (status === 201) resolve(Buffer.concat(chunks).toString());
          else reject(new Error(`${status} ${Buffer.concat(chunks)}`));
        },
        onResponseError(_controller, error) {
          reject(error);
        },
      },
    );
  });
}

answerParent({ load });
