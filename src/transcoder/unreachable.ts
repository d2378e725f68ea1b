/** The end of a switch over a union. The transcoder imports nothing of the service, so it has its own. */

/** Closes a switch over a union: the compiler refuses it while a case is missing. */
export function unreachable(value: never): never {
  throw new Error(`unreachable case: ${String(value)}`);
}
