/** The intake of gateway notifications: reads raw bytes, stores them, answers. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { findSettings } from "../accounts/merchant-settings.ts";
import { findConnection } from "../gateways/connections.ts";
import { notificationBytesMax, requestTimeoutMs } from "../limits.ts";
import { cellOf, findCell, requireCell } from "../platform/cells.ts";
import type { CountedClientOf } from "../platform/client-address.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId } from "../platform/ids.ts";
import { readBody } from "../transcoder/request-body.ts";
import { sendAnswer } from "../transcoder/send-answer.ts";
import type { EdgeEnvironment, EdgeEnvironments } from "./caller.ts";
import { setAnswerHeaders } from "./request-id.ts";

const pattern = /^\/gateway-notifications\/(test|live)\/(gc_[0-9a-z]{26})$/;

/** Answers POST /gateway-notifications/{environment}/{connectionId} with 200 once the notifications are durable. */
export function createNotificationIntake(environments: EdgeEnvironments, clientOf: CountedClientOf) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const [, name, connectionId = ""] = pattern.exec(request.url ?? "") ?? [];
    const environment = name === "test" || name === "live" ? environments[name] : undefined;
    if (environment === undefined) return false;
    if (request.method !== "POST") {
      throw new DomainError("method_not_allowed", "Notifications are posted.", { allow: ["POST"] });
    }
    const { requestLimits } = environment;
    requestLimits?.countNotification(connectionId, clientOf(request), (fields) => setAnswerHeaders(request, fields));
    const read = async () => ({
      headers: singleHeaders(request),
      body: await readBody(request, { bodyBytesMax: notificationBytesMax, bodyTimeoutMs: requestTimeoutMs }),
    });
    if (environment.cells === undefined) await environment.takeNotification(connectionId, read);
    else await takeInCells(environment, connectionId, read);
    requestLimits?.noteConnection(connectionId);
    // Adyen repeats a notification until it reads this word (https://docs.adyen.com/development-resources/webhooks, 2026-11).
    sendAnswer(response, { status: 200, headers: { "content-type": "text/plain" }, body: "[accepted]" });
    return true;
  };
}

type Read = Parameters<EdgeEnvironment["takeNotification"]>[1];

/**
 * Takes a notification in the cell that made the connection, and where its merchant has moved since: the notification
 * does not say which cell has its payment, and the others ignore it. One whose credentials are older refuses it.
 */
async function takeInCells(environment: EdgeEnvironment, connectionId: string, read: Read): Promise<void> {
  let reading: ReturnType<Read> | undefined;
  const readOnce = () => {
    reading ??= read();
    return reading;
  };
  const cells = await findCellsOf(environment, connectionId);
  const taken = await Promise.allSettled(cells.map((cell) => cell.takeNotification(connectionId, readOnce)));
  const errors = taken.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  const isRefusal = (error: unknown) =>
    error instanceof DomainError && ["not_found", "invalid_key"].includes(error.code);
  const failure = errors.find((error) => !isRefusal(error)) ?? (errors.length === taken.length ? errors[0] : undefined);
  if (failure !== undefined) throw failure;
}

/** Returns the cells of a connection's merchant; the first one for an address that belongs to no connection. */
async function findCellsOf(first: EdgeEnvironment, connectionId: string): Promise<readonly EdgeEnvironment[]> {
  const id = decodeId("gc", connectionId);
  let cell = id === undefined ? undefined : findCell(first, cellOf(id));
  const connection = cell && id !== undefined && (await findConnection(cell.database, id));
  if (!cell || !connection) return [first];
  for (;;) {
    const settings = await findSettings(cell.database, connection.merchantId);
    if (settings?.movedTo == null)
      return [cell, ...(settings?.formerCells ?? []).map((left) => requireCell(first, left))];
    cell = requireCell(first, settings.movedTo);
  }
}

function singleHeaders(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  );
}
