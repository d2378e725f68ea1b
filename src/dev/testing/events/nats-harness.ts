/** A harness of events with its own nats-server, and the product's connection to it. */
import { vi } from "vitest";
import { openNats } from "../../../platform/nats.ts";
import { startTestNats } from "../nats.ts";
import { openEventsHarness } from "./events-harness.ts";

/** Starts both; close them after the tests. */
export async function openNatsHarness() {
  const [harness, nats] = await Promise.all([openEventsHarness(), startTestNats()]);
  const link = openNats({ login: nats.urls.test, name: "test", log: { error: vi.fn() } });
  await link.connected;
  const close = async () => {
    await link.close();
    await Promise.all([harness.close(), nats.stop({ removeData: true })]);
  };
  return { harness, nats, link, close };
}
