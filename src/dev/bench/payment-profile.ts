/** Profiles every role while many customers pay concurrently: the time and the memory of a payment. */
import { superuserUrlOf } from "./fill-payments.ts";
import { cpuOfOne, type PaymentBenchOptions, payManyAtOnce } from "./payment-bench.ts";
import { writeCpu } from "./payment-report.ts";
import { PaymentSite, type SiteRole } from "./payment-site.ts";
import { profilingOptions } from "./profiling-options.ts";
import { beginStatementTimes, writeStatementTimes } from "./statement-times.ts";

const profiledRoles: readonly SiteRole[] = ["edge", "worker", "vault"];

/**
 * Customers pay for `seconds` to warm up and for `rounds × seconds`, whose statements are timed. Node.js writes the
 * profiles of each role, its start included, to a folder of its name. Returns the times.
 */
export async function profilePayments(
  options: Pick<PaymentBenchOptions, "rounds" | "seconds" | "customers"> & { readonly folder: string },
  onStep: (step: string) => void,
): Promise<string> {
  const { folder, rounds, seconds } = options;
  onStep("starting servers and roles");
  const site = await PaymentSite.open({ timesStatements: true });
  const superuserUrl = superuserUrlOf(site.ownerUrl, site.folder);
  try {
    const load = site.startChild("payment-load.ts");
    for (const role of profiledRoles) await site.start(role, { nodeOptions: profilingOptions(folder, role) });
    onStep("warming up");
    await payManyAtOnce(load, { ...options, doors: site.doors });
    onStep("profiling");
    await beginStatementTimes(superuserUrl);
    const before = site.cpuMs();
    const paid = await payManyAtOnce(load, { ...options, doors: site.doors, seconds: rounds * seconds });
    const used = writeCpu(Object.entries(cpuOfOne(before, site.cpuMs(), paid)));
    const statements = await writeStatementTimes(superuserUrl, paid);
    const perSecond = paid.payments / (paid.elapsedMs / 1_000);
    const summary = `${paid.payments} payments, ${perSecond.toFixed(0)}/s under the profiler, ${options.customers} concurrent customers; CPU ms of one payment ${used}`;
    return `${summary}\n\n${statements}`;
  } finally {
    await site.close();
  }
}
