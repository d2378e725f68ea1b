import { describe, expect, it } from "vitest";
import { cellOf, cellsMax, findCell, inCell, nameOfCell, requireCell } from "./cells.ts";
import { runtimeOfCell, systemRuntime } from "./runtime.ts";

describe("a cell", () => {
  it("is named by the last bits of an id, which stays a UUIDv7 and as old as it was", () => {
    const uuid = "019b8450-1234-7abc-9def-0123456789ff";
    expect(inCell(uuid, 1)).toBe("019b8450-1234-7abc-9def-0123456789c1");
    for (const cell of [1, 2, cellsMax]) expect(cellOf(inCell(uuid, cell))).toBe(cell);
    expect(cellOf(systemRuntime.uuid())).toBe(1);
    expect(cellOf(runtimeOfCell(7).uuid())).toBe(7);
  });

  it("keeps the name of its environment, followed by its number from the second one on", () => {
    expect([nameOfCell("live", 1), nameOfCell("live", 2)]).toEqual(["live", "live-2"]);
  });

  it("is found by its number; the only one whatever the number", () => {
    type Cell = { name: string; cells?: ReadonlyMap<number, Cell> };
    const [alone, first, second] = ["alone", "first", "second"].map((name): Cell => ({ name })) as [Cell, Cell, Cell];
    expect(findCell(alone, 9)).toBe(alone);
    first.cells = new Map([
      [1, first],
      [2, second],
    ]);
    expect(findCell(first, 2)).toBe(second);
    expect(findCell(first, 9)).toBeUndefined();
    expect(() => requireCell(first, 9)).toThrow(expect.objectContaining({ code: "unavailable" }));
  });
});
