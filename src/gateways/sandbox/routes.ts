/** The pretend acquirers' HTTP vocabulary: a request, an answer, a route. Knows no acquirer. */

/** A request to a pretend acquirer, with its body read. */
export type SandboxRequest = {
  readonly method: string;
  readonly path: string;
  /** The named groups of the route's path. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
};

/** `hang_up` closes the connection without an answer. `about` is the reference that release signals know it by. */
export type SandboxAnswer =
  | {
      readonly status: number;
      readonly body: object;
      readonly headers?: Readonly<Record<string, string>>;
      readonly about?: string;
    }
  | "hang_up";

/** What an acquirer does for one method and path. */
export type Route = {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: RegExp;
  /** What the request log and the release signals call it. */
  readonly operation: string;
  handle(request: SandboxRequest): Promise<SandboxAnswer>;
};

/** The route of a request and the values in its path. */
export function findRoute(
  routes: readonly Route[],
  method: string,
  path: string,
): { route: Route; parameters: Readonly<Record<string, string>> } | undefined {
  for (const route of routes) {
    const match = route.method === method ? route.path.exec(path) : null;
    if (match !== null) return { route, parameters: { ...match.groups } };
  }
  return undefined;
}
