/** Finds variables that look like our settings but are none: a mistyped one must not count as absent. */
import { variableOf } from "../platform/setting.ts";
import { allSettings } from "./all-settings.ts";
import { furtherCells } from "./environment-settings.ts";

/** A variable that is not a setting, and the settings that may be meant. */
export type UnknownVariable = { readonly variable: string; readonly meant: readonly string[] };

const prefix = "SWITCHYARD_";
// Variables of the contract tests, named by gateway.
const contractPrefix = `${prefix}CONTRACT_`;
// Variables that Kubernetes sets for a Service whose name begins like ours.
const serviceLink = /_SERVICE_(HOST|PORT)(_\w+)?$|_PORT_\d+_(TCP|UDP)(_\w+)?$/;
const serviceLinkValue = /^(tcp|udp):\/\//;
// Two typing errors, or one missing letter and one wrong one.
const slipsMax = 2;

function knownVariables(): ReadonlySet<string> {
  const names = allSettings.flatMap((setting) => {
    const variables = setting.name.includes("{ENV}")
      ? (["test", "live"] as const).flatMap((environment) =>
          (setting.name.includes("{N}") ? furtherCells : [undefined]).map((cell) =>
            variableOf(setting, { environment, cell }),
          ),
        )
      : [setting.name];
    return setting.kind.isSecret ? variables.flatMap((name) => [name, `${name}_FILE`]) : variables;
  });
  return new Set(names);
}

/** Returns the variables of this process that begin like ours and that no role reads. */
export function findUnknownVariables(variables: Readonly<Record<string, string | undefined>>): UnknownVariable[] {
  const known = knownVariables();
  return Object.keys(variables)
    .filter((name) => name.startsWith(prefix) && !known.has(name) && !name.startsWith(contractPrefix))
    .filter((name) => !serviceLink.test(name) && !serviceLinkValue.test(variables[name] ?? ""))
    .map((variable) => ({ variable, meant: findMeant(variable, known) }));
}

function findMeant(variable: string, known: ReadonlySet<string>): string[] {
  const names = [...known];
  const fewest = Math.min(...names.map((name) => countSlips(variable, name)));
  if (fewest <= slipsMax) return names.filter((name) => countSlips(variable, name) === fewest);
  // The environment is missing, or the words are in another order.
  const own = wordsOf(variable);
  return names.filter((name) => wordsOf(name) === own);
}

function wordsOf(variable: string): string {
  const words = variable.split("_").filter((word) => word !== "TEST" && word !== "LIVE");
  return words.toSorted().join("_");
}

/**
 * Returns the number of letters to add, remove, change or swap with the next one: the distance of Damerau and
 * Levenshtein.
 */
function countSlips(one: string, other: string): number {
  let [before, last] = [[] as number[], Array.from({ length: other.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const change = one[row - 1] === other[column - 1] ? 0 : 1;
      const swap =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
          ? before[column - 2]! + 1
          : Number.POSITIVE_INFINITY;
      current.push(Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + change, swap));
    }
    [before, last] = [last, current];
  }
  return last[other.length]!;
}
