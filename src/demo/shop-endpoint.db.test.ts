/** The shop's endpoint moves with the shop, and nobody else's does. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { listEndpoints, registerEndpoint } from "../events/endpoints.ts";
import { type EventsBed, openEventsBed } from "../events/testing/events-bed.ts";
import { moveShopEndpoint } from "./shop-endpoint.ts";

let bed: EventsBed;

beforeAll(async () => {
  bed = await openEventsBed();
});

afterAll(async () => {
  await bed?.close();
});

it("moves the shop's endpoint to the shop's new port and leaves every other as it is", async () => {
  const [shop, other] = [randomUUID(), randomUUID()];
  const old = "http://127.0.0.1:4405/webhooks";
  await registerEndpoint(bed.context, { merchantId: shop, url: old });
  await registerEndpoint(bed.context, { merchantId: shop, url: "http://127.0.0.1:3000/my-own" });
  await registerEndpoint(bed.context, { merchantId: other, url: old });
  await moveShopEndpoint(bed.context, { merchantId: shop, url: "http://127.0.0.1:5005/webhooks" });
  const urls = async (merchantId: string) =>
    (await listEndpoints(bed.context.database, merchantId)).map(({ url }) => url);
  expect(await urls(shop)).toEqual(["http://127.0.0.1:5005/webhooks", "http://127.0.0.1:3000/my-own"]);
  expect(await urls(other)).toEqual([old]);
});
