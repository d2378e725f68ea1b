/** Typed JSON calls to the service, with the browser's own cookie, and messages for its errors. */
import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { useMemo } from "react";
import { BadRequestSchema, ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";

// The cell that a person has chosen, by environment and merchant; without one, the service uses the merchant's own.
const chosenCells = new Map<string, number>();
const placeOf = ({ pathname }: Location) => pathname.split("/").slice(1, 3).join("/");

/** Shows another cell of the page's merchant and environment from now on. */
export function chooseCell(cell: number): void {
  chosenCells.set(placeOf(location), cell);
}

/** Returns the cell that was chosen for the page's merchant and environment; undefined if none was. */
export function chosenCell(): number | undefined {
  return chosenCells.get(placeOf(location));
}

const inChosenCell: Interceptor = (next) => (request) => {
  const cell = chosenCell();
  if (cell !== undefined) request.header.set("cell", String(cell));
  return next(request);
};

const calls = createConnectTransport({
  baseUrl: location.origin,
  defaultTimeoutMs: 20_000,
  interceptors: [inChosenCell],
});

let askForProof: (() => Promise<void>) | undefined;

/** A call that requires a fresh proof of identity calls `ask` from now on, and is repeated when it resolves. */
export function proveBy(ask: typeof askForProof): void {
  askForProof = ask;
}

export const transport: Transport = {
  ...calls,
  async unary(...call) {
    try {
      return await calls.unary(...call);
    } catch (error) {
      if (askForProof === undefined || codeOf(error) !== "fresh_sign_in_required") throw error;
      await askForProof();
      return calls.unary(...call);
    }
  },
};

// The wordings of Chromium, Firefox and WebKit.
const notLoaded = /dynamically imported module|importing a module script failed/i;

/**
 * Returns the service's error code; `offline` if a call had no answer. An exception of the page itself is `page_failed`,
 * or `page_not_loaded` if its code could not be fetched.
 */
export function codeOf(error: unknown): string {
  if (!(error instanceof ConnectError))
    return error instanceof Error && notLoaded.test(error.message) ? "page_not_loaded" : "page_failed";
  const connectError = error;
  const reason = connectError.findDetails(ErrorInfoSchema)[0]?.reason;
  if (reason !== undefined) return reason.toLowerCase();
  return connectError.code === Code.Canceled ? "canceled" : "offline";
}

/**
 * Returns the service's errors of single fields, by their names in the request; a form's fields have the same names.
 * React Aria's form shows a new object's problems again, also those that were corrected, and then submits nothing: one
 * error has one object.
 */
export function useFieldProblems(error: unknown): Record<string, string> {
  return useMemo(() => {
    const [refused] = error ? ConnectError.from(error).findDetails(BadRequestSchema) : [];
    return Object.fromEntries((refused?.fieldViolations ?? []).map(({ field, description }) => [field, description]));
  }, [error]);
}

export function messageOf(error: unknown): string {
  const code = codeOf(error);
  if (code === "offline") return "The service does not answer. Check your connection, then try again.";
  if (code === "page_not_loaded")
    return "This page could not be loaded. Check your connection, then reload it: a new version may be installed.";
  if (code === "page_failed") return "This page has an error. Reload it; if the error persists, contact your operator.";
  if (code === "internal") return "Something went wrong on our side. Try again; if it persists, contact your operator.";
  return ConnectError.from(error).rawMessage;
}
