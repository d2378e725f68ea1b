import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { listEndpoints, registerEndpoint } from "../events/endpoints.ts";
import { moveShopEndpoint } from "./shop-endpoint.ts";

const harness = await forFile(openEventsHarness);

it("moves the shop's endpoint to the shop's new port and leaves every other unchanged", async () => {
  const [shop, other] = [randomUUID(), randomUUID()];
  const old = "http://127.0.0.1:4405/webhooks";
  await registerEndpoint(harness.context, { merchantId: shop, url: old });
  await registerEndpoint(harness.context, { merchantId: shop, url: "http://127.0.0.1:3000/my-own" });
  await registerEndpoint(harness.context, { merchantId: other, url: old });
  await moveShopEndpoint(harness.context, { merchantId: shop, url: "http://127.0.0.1:5005/webhooks" });
  const urls = async (merchantId: string) =>
    (await listEndpoints(harness.context.database, merchantId)).map(({ url }) => url);
  expect(await urls(shop)).toEqual(["http://127.0.0.1:5005/webhooks", "http://127.0.0.1:3000/my-own"]);
  expect(await urls(other)).toEqual([old]);
});
