import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { cards, startCoreFixture } from "../scenarios/core.fixture.ts";
import { countUnclassified, listUnclassifiedCodes } from "./unclassified-codes.ts";

const unclassifiedCodeCharactersMax = 100;
const unclassifiedCodesMax = 500;

const unclassified = "4000000000005209";

const fixture = await forFile(startCoreFixture);
await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);

const pay = async (number: string) => fixture.submit(await fixture.newSession(), number);
const list = () => listUnclassifiedCodes(fixture.core.database, fixture.owner.merchantId);

describe("unclassified codes", () => {
  it("are counted with the last attempt that each has stopped; classified declines are not", async () => {
    await pay(cards.softDecline);
    expect(await list()).toEqual([]);
    const first = await pay(unclassified);
    const second = await pay(unclassified);
    expect([first.declineCode, second.declineCode]).toEqual(["unclassified", "unclassified"]);
    const { attempts } = await fixture.loadSession(second);
    const [code, ...others] = await list();
    expect(others).toEqual([]);
    expect(code).toMatchObject({
      gateway: "SANDBOX_A",
      gatewayCode: attempts[0]!.gatewayCode,
      attempts: 2,
      sessionId: second.id,
      attemptId: attempts[0]!.id,
    });
    expect(code!.lastSeenAt.getTime()).toBeGreaterThan(code!.firstSeenAt.getTime());
  });

  it("are kept apart up to a maximum number and cut to a maximum length, whatever a gateway writes", async () => {
    const { attempts } = await fixture.loadSession(await pay(unclassified));
    const [attempt] = attempts;
    const seen = (gatewayCode: string) =>
      fixture.core.database.transaction((tx) =>
        countUnclassified(tx, { ...attempt!, gateway: "STRIPE" }, { ...declined, gatewayCode }),
      );
    const declined = {
      type: "declined",
      kind: "SOFT_DECLINE",
      stop: "unclassified",
      declineCode: "unclassified",
    } as const;
    await seen("x".repeat(10_000));
    const fill = `INSERT INTO unclassified_code (merchant_id, gateway, gateway_code, session_id, attempt_id)
      SELECT $1, 'STRIPE', 'code ' || n, $2, $3 FROM generate_series(2, $4::int) AS n`;
    const { merchantId } = fixture.owner;
    await fixture.asOwner.pool.query(fill, [merchantId, attempt!.sessionId, attempt!.id, unclassifiedCodesMax]);
    await seen("one too many");
    await seen("and another");
    await seen("code 2");
    const text = "SELECT gateway_code, attempts::int FROM unclassified_code WHERE gateway = 'STRIPE'";
    const { rows } = await fixture.asOwner.pool.query(text);
    expect(rows).toHaveLength(unclassifiedCodesMax + 1);
    expect(rows).toContainEqual({ gateway_code: "(others)", attempts: 2 });
    expect(rows).toContainEqual({ gateway_code: "code 2", attempts: 2 });
    expect(rows).toContainEqual({ gateway_code: "x".repeat(unclassifiedCodeCharactersMax), attempts: 1 });
    expect(await list()).toHaveLength(unclassifiedCodesMax);
  });
});
