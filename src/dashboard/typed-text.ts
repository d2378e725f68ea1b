/** Texts that members typed, as parts of sentences that other members decide by. PURE. */
import type { RuleContent } from "../core/record/routing-rules.ts";
import type { Connection } from "../gateways/connections.ts";

// Characters that end a quotation or look like its end, that hide, are blank, reorder text or begin a line, and the sign of an escape. Joiners
// and the form of an emoji are part of words.
const special =
  /(?!\u200c|\u200d|\ufe0f| )[\\“”„‟"＂❝❞″〝〞\u2800\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Two texts that differ stay different. */
function escaped(text: string): string {
  return text.replace(special, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/** Returns a text in quotation marks that nothing in it can end. */
export function quoted(text: string): string {
  return `“${escaped(text)}”`;
}

const words = /^[\p{L}\p{N}_-]+( [\p{L}\p{N}_-]+)*$/u;

/** Returns the name of a gateway account, such as `STRIPE (shop)`; quoted if it is more than words. */
export function accountName({ gateway, account }: Pick<Connection, "gateway" | "account">): string {
  return `${gateway} (${words.test(account) && escaped(account) === account ? account : quoted(account)})`;
}

/** Returns a rule to describe, in which the texts that a member typed are quoted. Names of cases get their quotes there. */
export function withQuotedTexts<Rule extends RuleContent>(rule: Rule): Rule {
  if (!rule.cases) return rule;
  const list = rule.cases.list.map(({ name, conditions, ...one }) => ({
    ...one,
    name: escaped(name),
    conditions: {
      ...conditions,
      ...(conditions.metadata && {
        metadata: conditions.metadata.map(({ key, values }) => ({ key: quoted(key), values: values.map(quoted) })),
      }),
    },
  }));
  return { ...rule, cases: { ...rule.cases, list } };
}
