/** nats-servers for tests: each call starts a separate server, so that a test may kill it or delete its store. */
import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { type PrivateNats, startPrivateNats } from "../../demo/private-nats.ts";
import { testStateFolder } from "./test-run.ts";

/** Starts an empty nats-server with JetStream; takes about 0.1 s. The run's end stops it if the test does not. */
export function startTestNats(): Promise<PrivateNats> {
  const dataName = `${inject("testRunName")}-nats-${randomBytes(4).toString("hex")}`;
  return startPrivateNats({ stateFolder: testStateFolder, dataName });
}
