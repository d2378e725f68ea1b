/** Profiles of every role while many customers pay at once: where the time and the memory of a payment go. */
import { type PaymentBenchOptions, payManyAtOnce } from "./payment-bench.ts";
import { PaymentSite, type SiteRole } from "./payment-site.ts";
import { beginProfile, endProfile, profilingOptions } from "./profile/profiled.ts";
import { writeProfileReport } from "./profile/report.ts";

const profiledRoles: readonly SiteRole[] = ["edge", "worker", "vault"];

/** Customers pay for `seconds` to warm up and `rounds × seconds` under the profiler. The report of each role, one after the other. */
export async function profilePayments(
  options: Pick<PaymentBenchOptions, "rounds" | "seconds" | "customers"> & { readonly folder: string },
  onStep: (step: string) => void,
): Promise<string> {
  const { folder, rounds, seconds } = options;
  onStep("starting servers and roles");
  const site = await PaymentSite.open();
  try {
    const load = site.startChild("payment-load.ts");
    for (const role of profiledRoles) await site.start(role, { nodeOptions: profilingOptions(folder, role) });
    onStep("warming up");
    await payManyAtOnce(site, load, options);
    for (const role of profiledRoles) await beginProfile(folder, role);
    onStep("profiling");
    const { payments, elapsedMs } = await payManyAtOnce(site, load, { ...options, seconds: rounds * seconds });
    const reports: string[] = [];
    for (const role of profiledRoles) {
      onStep(`ending the profile of ${role}`);
      reports.push(await writeProfileReport(role, await endProfile(folder, role)));
    }
    const perSecond = payments / (elapsedMs / 1_000);
    const told = `${payments} payments, ${perSecond.toFixed(0)}/s under the profiler, ${options.customers} customers at once`;
    return [told, ...reports].join("\n\n");
  } finally {
    await site.close();
  }
}
