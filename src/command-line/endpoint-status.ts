/** `switchyard endpoint pause`, `resume`, `disable`, `enable`, `remove`: whether anything is posted to an endpoint. */
import type { Command } from "commander";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";
import { sameScope } from "./same-scope.ts";

type EndpointOptions = AttachOptions & ScopeOptions;

/** What happens meanwhile waits. */
export function pauseCommand(): Command {
  return endpointCommand(
    "pause",
    "post nothing more to an endpoint; its events wait, and all go out when it is resumed",
    {
      act: (endpointId, options) =>
        administer(
          options,
          ({ endpoints }) => endpoints.pauseWebhookEndpoint({ ...scopeOf(options), endpointId }),
          () => [
            "Paused. Its events wait; to send them and go on:",
            `  switchyard endpoint resume ${endpointId}${sameScope(options)}`,
          ],
        ),
    },
  );
}

/** The end of a pause. */
export function resumeCommand(): Command {
  return endpointCommand("resume", "go on with a paused endpoint: what waited is posted, in order", {
    act: (endpointId, options) =>
      administer(
        options,
        ({ endpoints }) => endpoints.resumeWebhookEndpoint({ ...scopeOf(options), endpointId }),
        ({ endpoint }) =>
          endpoint?.status === "PENDING"
            ? ["Its URL is not verified yet:", `  switchyard endpoint verify ${endpointId}${sameScope(options)}`]
            : ["Resumed: what waited is posted now."],
      ),
  });
}

/** What happens meanwhile is not kept to be sent. */
export function disableCommand(): Command {
  return endpointCommand("disable", "stop an endpoint; what happens meanwhile is sent later only on request", {
    act: (endpointId, options) =>
      administer(
        options,
        ({ endpoints }) => endpoints.disableWebhookEndpoint({ ...scopeOf(options), endpointId }),
        () => ["Disabled. To go on with it:", `  switchyard endpoint enable ${endpointId}${sameScope(options)}`],
      ),
  });
}

/** Says what was missed, and the command that sends it. */
export function enableCommand(): Command {
  return endpointCommand("enable", "go on with an endpoint that you or its failures have disabled, or that is paused", {
    act: (endpointId, options) =>
      administer(
        options,
        ({ endpoints }) => endpoints.enableWebhookEndpoint({ ...scopeOf(options), endpointId }),
        (answer) => enabledLines(`${endpointId}${sameScope(options)}`, answer),
      ),
  });
}

/**
 * What an owner is told of an endpoint that goes on, whether at once or when its new URL is verified. `named` is its id
 * with the options that lead to it.
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
    `It has missed ${missedEvents} since ${missedSince}; to send them${isPending ? " once it is verified" : ""}:`,
    `  switchyard delivery recover ${named} --since ${missedSince}`,
  ];
}

/** For good. */
export function removeCommand(): Command {
  return endpointCommand("remove", "take an endpoint away for good; its delivery log is kept", {
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
  { act }: { act: (endpointId: string, options: EndpointOptions) => Promise<object> },
): Command {
  const example = `switchyard endpoint ${name} we_01h455vb4pex5vsknk084sn02q`;
  return merchantCommand(name, { description, example })
    .argument("<endpoint>", "its id")
    .action(async (endpointId: string, options: EndpointOptions) => {
      await act(endpointId, options);
    });
}
