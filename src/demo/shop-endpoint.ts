/** The shop's webhook address follows the shop when a later start puts it on another port. */
import type { Environment } from "../environment.ts";
import type { Statement } from "../platform/database.ts";

const move: Statement = {
  name: "move_shop_endpoint",
  text: `UPDATE endpoint SET url = $2
         WHERE merchant_id = $1 AND url <> $2 AND url ~ '^http://127\\.0\\.0\\.1:[0-9]+/webhooks$'`,
};

/** Points the merchant's endpoint at this address; its signing secret and what still waits for it stay. */
export async function moveShopEndpoint(
  environment: Pick<Environment, "database">,
  to: { merchantId: string; url: string },
): Promise<void> {
  await environment.database.query(move, [to.merchantId, to.url]);
}
