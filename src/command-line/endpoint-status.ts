/** `switchyard endpoint pause`, `resume`, `disable`, `enable`, `remove`: turns deliveries to an endpoint on and off. */
import type { Command } from "commander";
import { administer, type MerchantOptions, merchantCommand, scopeOf } from "./attachment.ts";
import { sameScope } from "./same-scope.ts";

/** Pauses deliveries; events of the meantime wait. */
export function pauseCommand(): Command {
  return endpointCommand("pause", "stop posting to an endpoint; its events wait and are posted when it is resumed", {
    act: (endpointId, options) =>
      administer(
        options,
        ({ endpoints }) => endpoints.pauseWebhookEndpoint({ ...scopeOf(options), endpointId }),
        () => [
          "Paused. Its events wait. To resume and post them:",
          `  switchyard endpoint resume ${endpointId}${sameScope(options)}`,
        ],
      ),
  });
}

export function resumeCommand(): Command {
  return endpointCommand("resume", "resume a paused endpoint; waiting events are posted in order", {
    act: (endpointId, options) =>
      administer(
        options,
        ({ endpoints }) => endpoints.resumeWebhookEndpoint({ ...scopeOf(options), endpointId }),
        ({ endpoint }) =>
          endpoint?.status === "PENDING"
            ? ["Its URL is not verified yet:", `  switchyard endpoint verify ${endpointId}${sameScope(options)}`]
            : ["Resumed: waiting events are posted now."],
      ),
  });
}

/** Disables an endpoint; events of the meantime are not queued for it. */
export function disableCommand(): Command {
  return endpointCommand(
    "disable",
    "disable an endpoint; events of the meantime are sent only if you recover them later",
    {
      act: (endpointId, options) =>
        administer(
          options,
          ({ endpoints }) => endpoints.disableWebhookEndpoint({ ...scopeOf(options), endpointId }),
          () => ["Disabled. To enable it again:", `  switchyard endpoint enable ${endpointId}${sameScope(options)}`],
        ),
    },
  );
}

/** Enables an endpoint, and prints the number of missed events and the command that sends them. */
export function enableCommand(): Command {
  return endpointCommand("enable", "enable an endpoint that is paused, or that you or its failures have disabled", {
    act: (endpointId, options) =>
      administer(
        options,
        ({ endpoints }) => endpoints.enableWebhookEndpoint({ ...scopeOf(options), endpointId }),
        (answer) => enabledLines(`${endpointId}${sameScope(options)}`, answer),
      ),
  });
}

/**
 * Returns the lines that report an enabled endpoint, whether it is enabled at once or when its new URL is verified.
 * `named` is its id with the options that lead to it.
 */
export function enabledLines(
  named: string,
  {
    endpoint,
    missedEvents = 0,
    missedSince,
  }: { endpoint?: { status?: string }; missedEvents?: number; missedSince?: string },
): string[] {
  const isPending = endpoint?.status === "PENDING";
  const first = isPending
    ? ["Its URL is not verified yet:", `  switchyard endpoint verify ${named}`]
    : ["Enabled: events are posted from now on."];
  if (missedEvents === 0) return first;
  return [
    ...first,
    `It has missed ${missedEvents} events since ${missedSince}. To send them${isPending ? " once it is verified" : ""}:`,
    `  switchyard delivery recover ${named} --since ${missedSince}`,
  ];
}

export function removeCommand(): Command {
  return endpointCommand("remove", "remove an endpoint permanently; its delivery log is kept", {
    act: (endpointId, options) =>
      administer(
        options,
        ({ endpoints }) => endpoints.removeWebhookEndpoint({ ...scopeOf(options), endpointId }),
        () => [
          "Removed. Its deliveries can still be listed:",
          `  switchyard delivery list --endpoint ${endpointId}${sameScope(options)}`,
        ],
      ),
  });
}

function endpointCommand(
  name: string,
  description: string,
  { act }: { act: (endpointId: string, options: MerchantOptions) => Promise<object> },
): Command {
  const example = `switchyard endpoint ${name} we_01h455vb4pex5vsknk084sn02q`;
  return merchantCommand(name, { description, example })
    .argument("<endpoint>", "id of the endpoint")
    .action(async (endpointId: string, options: MerchantOptions) => {
      await act(endpointId, options);
    });
}
