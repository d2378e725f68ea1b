import { describe, expect, it } from "vitest";
import { RequestStock, stockSize } from "./request-stock.ts";

const limit = { perSecond: 100, burst: 200 };

/** Spends until nothing is left; returns the number spent. */
function spendAll(stock: RequestStock, nowMs: number): number {
  let spent = 0;
  while (stock.spend(nowMs)) spent++;
  return spent;
}

describe("stockSize()", () => {
  it("is a fifth of a second of the rate, at most a tenth of the burst, and never zero", () => {
    expect(stockSize(limit)).toBe(20);
    expect(stockSize({ perSecond: 1_000, burst: 200 })).toBe(20);
    expect(stockSize({ perSecond: 50, burst: 1_000 })).toBe(10);
    expect(stockSize({ perSecond: 1, burst: 5 })).toBe(1);
  });
});

describe("RequestStock", () => {
  it("spends what it was granted, and no more", () => {
    const stock = new RequestStock(limit);
    expect(stock.spend(0)).toBe(false);
    stock.add({ wanted: 20, granted: 20, left: 180 }, 0);
    expect(spendAll(stock, 1)).toBe(20);
  });

  it("requests more when a quarter is left, and for waiting requests", () => {
    const stock = new RequestStock(limit);
    expect(stock.wanted(0, 0)).toBe(20);
    expect(stock.wanted(0, 7)).toBe(27);
    stock.add({ wanted: 20, granted: 20, left: 180 }, 0);
    expect(stock.wanted(0, 0)).toBe(0);
    for (let spent = 0; spent < 15; spent++) stock.spend(0);
    expect(stock.wanted(0, 0)).toBe(15);
  });

  it("never requests more than the burst", () => {
    expect(new RequestStock(limit).wanted(0, 5_000)).toBe(200);
  });

  it("drops what was not spent for ten seconds", () => {
    const stock = new RequestStock(limit);
    stock.add({ wanted: 20, granted: 20, left: 180 }, 0);
    expect(stock.spend(9_999)).toBe(true);
    expect(stock.spend(10_000)).toBe(false);
  });

  it("requests no more after an empty bucket until it can grant a whole stock again", () => {
    const stock = new RequestStock(limit);
    stock.add({ wanted: 20, granted: 3, left: 0.5 }, 1_000);
    expect(spendAll(stock, 1_000)).toBe(3);
    expect(stock.dryForMs(1_000)).toBe(195);
    expect(stock.wanted(1_194, 9)).toBe(0);
    expect(stock.wanted(1_195, 9)).toBe(29);
  });

  it("knows what is left: its own and the bucket's, refilled since, and never more than the burst", () => {
    const stock = new RequestStock(limit);
    stock.add({ wanted: 20, granted: 20, left: 100.4 }, 0);
    expect(stock.remaining(0)).toBe(120);
    expect(stock.remaining(250)).toBe(145);
    expect(stock.remaining(60_000)).toBe(200);
  });
});
