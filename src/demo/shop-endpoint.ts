/** Updates the shop's webhook address when a later start uses another port. */
import type { Statement } from "../platform/database.ts";
import type { Environment } from "../processes/environment.ts";

const move: Statement = {
  name: "move_shop_endpoint",
  text: `UPDATE endpoint SET url = $2
         WHERE merchant_id = $1 AND url <> $2 AND url ~ '^http://127\\.0\\.0\\.1:[0-9]+/webhooks$'`,
};

/** Changes the address of the merchant's endpoint; its signing secret and its pending deliveries stay. */
export async function moveShopEndpoint(
  environment: Pick<Environment, "database">,
  to: { merchantId: string; url: string },
): Promise<void> {
  await environment.database.query(move, [to.merchantId, to.url]);
}
