/** `switchyard serve`: runs roles until SIGTERM. */
import { setTimeout as pause } from "node:timers/promises";
import { Command } from "commander";
import type { Role } from "../config/checked-config.ts";
import { exitSoon } from "../platform/process-end.ts";
import { parseRoles, roles } from "./roles-option.ts";
import { stopRequested } from "./stop-requested.ts";

// Counts after the shutdown grace for balancers. Longer than the longest step that a stop waits for: the vault's
// call of 16 s (vault/vault-limits.ts) and the webhook of 15 s (events/egress.ts).
const stopWithinMs = 20_000;

export function serveCommand(): Command {
  return new Command("serve")
    .requiredOption("--role <roles>", `comma-separated: ${roles.join(", ")}`, parseRoles)
    .addHelpText("after", "\nExample:\n  switchyard serve --role edge,worker")
    .action(async (options: { role: readonly Role[] }) => {
      const { serve } = await import("../processes/serve.ts");
      const running = await serve(options.role);
      process.send?.("ready");
      await stopRequested();
      const closed = await Promise.race([
        running.close().then(() => true),
        pause(running.graceMs + stopWithinMs, false),
      ]);
      if (!closed) console.error("Some work did not end in time. A worker resumes it when its lease lapses.");
      // A connection that a peer keeps open must not keep a stopped process alive.
      exitSoon(closed ? 0 : 1);
    });
}
