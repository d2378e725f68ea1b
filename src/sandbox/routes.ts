/** HTTP types of the sandbox acquirers: a request, an answer, a route. Knows no acquirer. */

export type SandboxRequest = {
  readonly method: string;
  readonly path: string;
  /** The named groups of the route's path. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
};

/** Damage to an answer on its way: cut short with its connection, or replaced by an intermediary. */
export type Spoilt = "cut" | "page" | "half" | "nothing";

/** `hang_up` closes the connection without an answer. `about` is the reference by which release signals select it. */
export type SandboxAnswer =
  | {
      readonly status: number;
      readonly body: object;
      readonly page?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly about?: string;
      readonly spoilt?: Spoilt;
    }
  | "hang_up";

export type Route = {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: RegExp;
  /** Its name in the request log and in release signals. */
  readonly operation: string;
  handle(request: SandboxRequest): Promise<SandboxAnswer>;
};

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
