import { describe, expect, it } from "vitest";
import { holdMany } from "../dev/testing/edge/slow-clients.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { connectionCheckMs, headersTimeoutMs } from "../limits.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);

// A loaded machine answers late; a bound that does not hold is off by more.
const patienceMs = 5_000;

describe("1 000 idle connections and 200 that send their headers a byte at a time", () => {
  it("delay no other caller's answer, and the slow ones are refused in time", async () => {
    const idle = await holdMany(500, edge.port, "GET /api/v1/meta HTTP/1.1\r\nHost: a\r\n\r\n");
    const silent = await holdMany(500, edge.port, "");
    const dripping = await holdMany(200, edge.port, "GET /api/v1/meta HTTP/1.1\r\nHost: a\r\nX: ", "x");
    const slow = [...silent, ...dripping];
    let isOver = false;
    const ends = Promise.all(slow.map(({ ended }) => ended)).finally(() => {
      isOver = true;
    });
    let answered = 0;
    while (!isOver) {
      const { status } = await edge.call("GET", "/meta");
      expect(status).toBe(200);
      answered++;
    }
    expect(answered).toBeGreaterThan(100);
    for (const { answers, rest, lastedMs } of await ends) {
      expect([answers.map(({ status }) => status), rest]).toEqual([[408], ""]);
      expect(JSON.parse(answers[0]!.text).code).toBe("request_timeout");
      expect(lastedMs).toBeGreaterThan(headersTimeoutMs - 100);
      expect(lastedMs).toBeLessThan(headersTimeoutMs + connectionCheckMs + patienceMs);
    }
    // Clients that were answered once may send again for a while.
    expect(idle.filter(({ socket }) => socket.destroyed)).toEqual([]);
    for (const { socket } of idle) socket.destroy();
  });
});
