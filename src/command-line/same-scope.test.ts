import { describe, expect, it } from "vitest";
import { sameScope } from "./same-scope.ts";

const left = { demo: ".switchyard", environment: "test" } as const;

describe("sameScope()", () => {
  it("repeats the given options, and none of the omitted ones", () => {
    expect(sameScope(left)).toBe("");
    expect(sameScope({ ...left, merchant: "mer_1", environment: "live" })).toBe(" --merchant mer_1 --environment live");
    expect(sameScope({ ...left, demo: "/tmp/our demo's" })).toBe(` --demo '/tmp/our demo'\\''s'`);
    const elsewhere = { grpcAddress: "127.0.0.1:8081", operatorTokenFile: "token" };
    expect(sameScope({ ...left, ...elsewhere })).toBe(" --grpc-address 127.0.0.1:8081 --operator-token-file token");
  });
});
