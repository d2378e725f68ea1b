/** A worker process mails endpoint alerts; if it is killed meanwhile, the next one sends the rest. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recordSettings } from "../../accounts/merchant-settings.ts";
import { recordConfirmedAddresses } from "../testing/confirmed-addresses.ts";
import { forFile } from "../testing/for-file.ts";
import { Mailbox } from "../testing/mailbox.ts";
import { type Act, killNow, WebhookFixture } from "./webhook-fixture.ts";

const login = { user: "ops", password: "hunter2" };
// Past the pause after an alert's first attempt.
const pastPauseS = 301;
// The loop of mails runs every ten seconds; processes start on a busy machine.
const patienceMs = 40_000;
// Well below the time that a mail may take (limits.ts).
const stopWithinMs = 7_000;

const [fixture, mailbox] = await Promise.all([
  forFile(() => WebhookFixture.open({ natsServers: 1 })),
  forFile(() => Mailbox.start({ login })),
]);

const startWorker = () =>
  fixture.site.startWorker({
    SWITCHYARD_SMTP_URL: `smtp://${login.user}:${login.password}@127.0.0.1:${mailbox.port}`,
    SWITCHYARD_SMTP_FROM: "pay@example.com",
  });

/** Returns a merchant whose alerts go to these addresses, and whose verified endpoint answers 410. */
async function beginWith(addresses: readonly string[]): Promise<Act> {
  fixture.receiver.answerWith({ status: 204 });
  const act = await fixture.begin();
  const { merchantId } = act;
  await fixture.site.environment.database.transaction(async (tx) => {
    const publishableKey = `switchyard_test_pk_${merchantId}`;
    const settings = { sessionLifetimeMs: 1_800_000, checkoutOrigins: [], statementDescriptor: null };
    await recordSettings(tx, { merchantId, publishableKey, ...settings });
    await recordConfirmedAddresses(tx, merchantId, addresses);
  });
  fixture.receiver.answerWith({ status: 410 });
  return act;
}

describe("a worker with a mail server", { timeout: 120_000 }, () => {
  it("that is killed while it mails has the alert mailed again, by the next one, under one Message-ID", async () => {
    const act = await beginWith(["ada@example.com", "ops@example.com"]);
    mailbox.answerWith({ mail: "hang" });
    const worker = await startWorker();
    await act.settle();
    await mailbox.waitForCount(1, patienceMs);
    await killNow(worker);
    mailbox.answerWith({});
    await fixture.site.passSeconds(pastPauseS);
    const next = await startWorker();
    const mails = await mailbox.waitForCount(3, patienceMs);
    await next.close();
    expect(mails.map(({ to, user }) => [to.join(), user])).toEqual([
      ["ada@example.com", "ops"],
      ["ada@example.com", "ops"],
      ["ops@example.com", "ops"],
    ]);
    const ids = new Set(mails.map(({ headers }) => new Map(headers).get("message-id")));
    expect([...ids]).toEqual([expect.stringMatching(/^<ntc_\w+@example\.com>$/)]);
    expect(mailbox.mails).toHaveLength(3);
  });

  it("stops in time while a mail server is silent, and logs neither password nor addresses", async () => {
    const act = await beginWith(["eve@example.com", "gone@example.com"]);
    mailbox.answerWith({ mail: "hang", addresses: { "eve@example.com": 550 } });
    const before = mailbox.mails.length;
    const worker = await startWorker();
    await act.settle();
    await mailbox.waitForCount(before + 1, patienceMs);
    const begun = performance.now();
    await worker.close();
    expect(performance.now() - begun).toBeLessThan(stopWithinMs);
    const { stateFolder } = fixture.site;
    const logs = readdirSync(stateFolder).filter((name) => /^worker-\d\.log$/.test(name));
    const text = logs.map((name) => readFileSync(join(stateFolder, name), "utf8")).join("");
    expect(text).toContain("refused an address of an alert");
    expect(text).not.toMatch(/hunter2|@example\.com/);
  });
});
