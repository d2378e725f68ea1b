/** Compiles annotated services into a route table, once at start, and refuses every wrong annotation. */
import type { ServiceImplSpec } from "@connectrpc/connect";
import { readHttpBindings } from "./http-rule.ts";
import { resolveRoute } from "./route.ts";
import { RouteTable } from "./route-table.ts";

/**
 * Compiles the google.api.http rules of all services; methods without one are left to other protocols.
 * Throws HttpRuleError for the first wrong rule.
 */
export function compileRoutes(services: readonly ServiceImplSpec[]): RouteTable {
  const table = new RouteTable();
  for (const { service, methods } of services) {
    for (const method of service.methods) {
      const bindings = readHttpBindings(method);
      const spec = methods[method.localName]!;
      if (spec.kind !== "unary") continue;
      for (const binding of bindings) table.add(resolveRoute(binding, spec.method, spec.impl));
    }
  }
  return table;
}
